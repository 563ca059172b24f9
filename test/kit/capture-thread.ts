/** A thread that captures with the programs it is given, until it is ended. */
import { workerData } from 'node:worker_threads'
import { CameraRecipe } from '../../threads/connectors/media/camera.ts'
import { Capture } from '../../threads/connectors/media/capture.ts'
import { MediaInput } from '../../threads/connectors/media/input.ts'
import type { Programs } from '../../threads/connectors/media/programs.ts'
import { Reach } from '../../threads/connectors/reach.ts'

const clock = { steadyMs: () => performance.now(), random: () => 1, nowUs: () => 0 }
const input = new MediaInput({ kind: 'test' }, {}, true, { folder: '/', reach: new Reach({ allow: [], deny: [] }) })
const recipe = new CameraRecipe(input, { fps: null, width: null, quality: null }, clock)
new Capture(recipe, clock, { programs: async () => workerData as Programs }).join({ item() {}, ok() {}, down() {} })
