import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { ErrorCode } from '../../protocol/errors.ts'
import { filesUnder, ROOT } from '../kit/sources.ts'

/** How a run of a hostile body ends: `ok`, or its error. `null`: it is not run there, for the reason named beside it. */
export type End = 'ok' | ErrorCode | null

export interface HostileKind {
  readonly slot: End
  readonly process: End
  /** Of what the error says. */
  readonly words?: RegExp
  /** Of the node, seconds. */
  readonly timeout?: number
}

const never: HostileKind = { slot: 'timeout', process: 'timeout', timeout: 0.15, words: /ran past its timeout/ }
const thrown = (words: RegExp): HostileKind => ({ slot: 'node_error', process: 'node_error', words })
const refused = (code: ErrorCode): HostileKind => ({ slot: code, process: code })
const harmless: HostileKind = { slot: 'ok', process: 'ok' }
/** A process is one body's own: there it may. */
const closed = (words: RegExp): HostileKind => ({ slot: 'node_error', process: null, words })
/** The whole engine goes, and is started again: see the tests with a real one. */
const whole = (process: End, words: RegExp): HostileKind => ({ slot: null, process, words })
const inThreads = (kind: HostileKind): HostileKind => ({ ...kind, process: null })

/** Each body of `test/faults/bodies/`, by the name of its file. */
export const hostileKinds: Readonly<Record<string, HostileKind>> = {
  // Never ends.
  'endless-loop': never,
  'endless-microtasks': never,
  'endless-generator': never,
  'async-generator-throws-in-return': never,
  'never-settles': inThreads(never),
  'thenable-never-calls': inThreads(never),
  'does-not-listen': never,
  'catastrophic-regex': inThreads(never),
  'top-level-await-never-settles': never,
  // Ends what it runs in.
  'exits-the-process': { slot: 'thread_lost', process: 'worker_lost', words: /with code:? 7/ },
  'exits-past-every-handler': { slot: 'thread_lost', process: 'worker_lost', words: /with code:? 7/ },
  'aborts-the-process': thrown(/not supported in workers/),
  'kills-its-own-pid': whole('worker_lost', /was ended by SIGKILL/),
  'aborts-by-signal': whole('worker_lost', /was ended by SIGABRT/),
  // The supervisor has the engine go on; a process that is silent for long is ended (processes.test.ts).
  'stops-its-own-pid': { slot: null, process: null },
  'forks-children': harmless,
  'starts-threads': harmless,
  // Takes more than there is.
  'deep-recursion': thrown(/RangeError: Maximum call stack size exceeded/),
  'deep-outputs': inThreads(refused('too_deep')),
  'circular-outputs': inThreads(refused('too_deep')),
  'giant-string': refused('value_too_large'),
  'string-past-the-language': inThreads(thrown(/RangeError: Invalid string length/)),
  'giant-array': inThreads(refused('value_too_large')),
  'heap-filled': { slot: 'out_of_memory', process: 'out_of_memory', words: /Keep less/ },
  // Memory outside of the heap is bounded by the machine alone in a thread.
  'memory-filled-with-buffers': { slot: null, process: 'out_of_memory', words: /took more than 320 MiB/ },
  'floods-emits': refused('emit_overflow'),
  'floods-metrics': harmless,
  'floods-metric-names': harmless,
  'floods-logs': harmless,
  'floods-reports': harmless,
  'floods-timers': harmless,
  // Throws what cannot be caught, or read.
  'throws-non-errors': inThreads(thrown(/threw/)),
  'throws-a-revoked-proxy': inThreads(thrown(/threw <Revoked Proxy>/)),
  'throws-in-a-timer': { slot: 'thread_lost', process: 'worker_lost', words: /mine/ },
  'throws-after-its-end': inThreads(harmless),
  'throws-null-past-every-handler': { slot: 'thread_lost', process: 'worker_lost' },
  'rejects-later-unhandled': inThreads(harmless),
  'throws-at-import': inThreads(refused('body_not_loaded')),
  'imports-what-is-not-there': inThreads(refused('body_not_loaded')),
  // Answers what cannot be read, sent or kept.
  'thenable-throws': inThreads(thrown(/Error: mine/)),
  'getters-in-outputs': thrown(/Error: mine/),
  'proxies-in-outputs': inThreads(thrown(/Error: mine/)),
  'proto-key-in-outputs': refused('wrong_dtype'),
  'proto-key-among-outputs': refused('undeclared_key'),
  'outputs-change-while-read': inThreads(refused('bad_output')),
  'undeclared-outputs': refused('undeclared_key'),
  'not-a-number': inThreads(refused('not_finite')),
  'returns-no-object': inThreads(refused('bad_output')),
  'returns-functions': inThreads(refused('wrong_dtype')),
  'returns-its-context': inThreads(refused('wrong_dtype')),
  'state-that-cannot-be-kept': refused('bad_state'),
  'state-too-large': inThreads(refused('state_too_large')),
  'detaches-its-inputs': harmless,
  'emits-after-its-end': inThreads(harmless),
  // Writes over what all bodies of its thread share.
  'pollutes-object-prototype': closed(/Cannot add property polluted, object is not extensible/),
  'replaces-array-push': closed(/Array\.prototype\.push is shared by all bodies of this thread/),
  'replaces-json': closed(/JSON\.\w+ is shared/),
  'replaces-atomics': closed(/Atomics\.\w+ is shared/),
  // In a process nobody puts them back before its outputs are read.
  'replaces-globals': { slot: 'ok', process: 'node_error' },
  'replaces-species-and-iterators': { slot: 'ok', process: null },
  'locks-what-it-replaced': { slot: 'thread_lost', process: null, words: /globalThis\.Promise/ },
  'replaces-process-exit': harmless,
  'changes-process-env': harmless,
  'hushes-up-exceptions': harmless,
  chdir: inThreads(thrown(/not supported in workers/)),
  // Reaches for the engine.
  'closes-parent-port': harmless,
  'forges-messages-on-parent-port': harmless,
  // It hears itself, and ends.
  'listens-on-parent-port': { slot: 'thread_lost', process: null, words: /exited with code: 3\. / },
  'ends-standard-streams': harmless,
  'deletes-its-module': inThreads(harmless),
  'syntax-error': { slot: null, process: null },
}

export const hostileFiles = filesUnder('test/faults/bodies', '.mjs').map(file => basename(file, '.mjs'))

export const hostileSource = (name: string): string =>
  readFileSync(join(ROOT, 'test', 'faults', 'bodies', `${name}.mjs`), 'utf8')
