import { setTimeout as sleep } from 'node:timers/promises'
import Type from 'typebox'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { CreateRun, RunStatus, RunTag } from '../../../protocol/nouns/run.ts'
import { LogLevel } from '../../../protocol/nouns/run-log.ts'
import { runDifferences, runFacts } from '../../../protocol/values/run-difference.ts'
import { isLive } from '../../../protocol/words/run-status.ts'
import type { Engine } from '../../engine.ts'
import { wholeRun } from '../../http/parse/short-ids.ts'
import { closed, flowName, page, pageOf, runId, since, timeOf, until } from '../arguments.ts'
import { listOf, shortened } from '../results.ts'
import { nodesOf, recordOf, runOf, shownNode, wholeNodesOf } from '../run-records.ts'
import { type Tool, tool } from '../tool.ts'

const { inputs, seed, timeout, no_cache, idempotency_key, group, tags, note } = CreateRun.properties
const nodeId = Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Id of a node.' }))

const LOOK_FIRST_MS = 50
const LOOK_LAST_MS = 1_000
const FOLLOWED_LINES = 100
const FOLLOWED_BYTES = 16 * 1024
const DIFFERENCE_SHOWN = 300
const OUTPUTS_TOO_LONG = 'the outputs of the nodes are too long to show'

/** As it stands when it has ended or the time is over. Looks more and more seldom: who waits long waits a little longer. */
async function followed(engine: Engine, run: string, wait_s: number, signal: AbortSignal) {
  const until_ms = performance.now() + wait_s * 1000
  for (let look_ms = LOOK_FIRST_MS; ; look_ms = Math.min(LOOK_LAST_MS, look_ms * 1.5)) {
    const { status, shown } = await recordOf(await engine.runs.text(run))
    const left_ms = until_ms - performance.now()
    if (!isLive(status) || left_ms <= 0 || signal.aborted) return { has_ended: !isLive(status), ...shown }
    await sleep(Math.min(look_ms, left_ms), undefined, { signal }).catch(() => {})
  }
}

export const runTools: readonly Tool[] = [
  tool({
    name: 'start_run',
    title: 'Start a run',
    description:
      'Starts a recorded run of a flow on the inputs given. follow_run waits for its end. The same idempotency_key answers the run that is there.',
    scope: 'run',
    input: Type.Object({ flow: flowName, inputs, seed, timeout, no_cache, idempotency_key, group, tags, note }, closed),
    run: async ({ flow, ...request }, { engine, caller }) => {
      const { run, replayed } = await engine.runs.createShown(flow, request, caller.actor)
      return { replayed, run: (await recordOf(run)).shown }
    },
  }),
  tool({
    name: 'list_runs',
    title: 'List runs',
    description: 'Lists runs, newest first, with short inputs, results and errors.',
    scope: 'read',
    input: Type.Object(
      {
        flow: Type.Optional(flowName),
        group: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
        tags: Type.Optional(
          Type.Array(RunTag, { maxItems: limits.RUN_TAGS, description: 'Runs that have all of them.' }),
        ),
        status: Type.Optional(RunStatus),
        since,
        before: until,
        ...page,
      },
      closed,
    ),
    run: async ({ flow, group, tags = [], status, since, before, ...args }, { engine }) => {
      const { limit, offset } = pageOf(args)
      const range = { since: timeOf('since', since), before: timeOf('before', before) }
      const selection = { flow: flow ?? null, group: group ?? null, tags, status: status ?? null, ...range }
      const { items, count } = await engine.runs.list({ ...selection, limit, offset })
      const shown = items.map(({ id, flow, version, status, created_at, duration, inputs, result, error, tags }) => ({
        ...{ id, flow, version, status, created_at, duration, inputs, result, error, tags },
      }))
      return listOf(shown, count, offset)
    },
  }),
  tool({
    name: 'read_run',
    title: 'Read a run',
    description:
      'Returns a run: inputs, result, error, and what became of each node. With node: that node with its outputs. Long values are cut.',
    scope: 'read',
    input: Type.Object({ run: runId, node: nodeId }, closed),
    run: async ({ run, node }, { engine }) => {
      const id = await wholeRun(engine.runs, run)
      if (node === undefined) {
        const nodes = await nodesOf(engine, id)
        const { shown } = await recordOf(await engine.runs.text(id))
        if (nodes === null) return { ...shown, nodes: OUTPUTS_TOO_LONG }
        const listed = listOf(
          nodes.map(one => shownNode(one)),
          nodes.length,
          0,
        )
        return { ...shown, nodes: listed }
      }
      const found = (await wholeNodesOf(engine, id)).find(one => one.node === node)
      if (found === undefined) throw new ServiceError('node_not_found', `Run ${id} has no node "${node}".`)
      return { run: id, ...shownNode(found, true) }
    },
  }),
  tool({
    name: 'follow_run',
    title: 'Follow a run',
    description: `Waits until a run has ended, at most wait_s seconds, and returns how it stands with its new log lines. When it has not ended, call again with after.`,
    scope: 'read',
    input: Type.Object(
      {
        run: runId,
        wait_s: Type.Optional(
          Type.Number({ minimum: 0, maximum: limits.MCP_FOLLOW_S, description: 'Seconds; 20 when absent.' }),
        ),
        after: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: Number.MAX_SAFE_INTEGER,
            description: 'Only log lines after this one: next_after of the call before.',
          }),
        ),
      },
      closed,
    ),
    run: async ({ run, wait_s = 20, after = 0 }, { engine, signal }) => {
      const id = await wholeRun(engine.runs, run)
      const run_now = await followed(engine, id, wait_s, signal)
      const page = { run: id, after, limit: FOLLOWED_LINES, bytes: FOLLOWED_BYTES, node: null, level: null }
      const { items, next_after } = await engine.run_logs.page(page)
      const nodes = await nodesOf(engine, id)
      return {
        ...run_now,
        nodes: nodes?.map(({ node, status }) => `${node}: ${status}`) ?? OUTPUTS_TOO_LONG,
        log: items.map(({ node, level, text }) => `${node} ${level}: ${text}`),
        next_after: next_after ?? items.at(-1)?.seq ?? after,
      }
    },
  }),
  tool({
    name: 'read_run_logs',
    title: 'Read the log of a run',
    description:
      'Returns lines that the bodies of a run logged or printed, after a line; of one node, or from a level on.',
    scope: 'read',
    input: Type.Object(
      {
        run: runId,
        node: nodeId,
        level: Type.Optional(LogLevel),
        after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
      },
      closed,
    ),
    run: async ({ run, node, level, after = 0 }, { engine }) => {
      const id = await wholeRun(engine.runs, run)
      const bytes = limits.MCP_RESULT_BYTES / 2
      const page = await engine.run_logs.page({
        ...{ run: id, after, limit: limits.RUN_LOG_PAGE_LINES, bytes, node: node ?? null, level: level ?? null },
      })
      const { items, next_after, dropped } = page
      return {
        run: id,
        lines: items.map(line => `${line.seq} ${line.node} ${line.level}: ${line.text}`),
        next_after,
        dropped,
      }
    },
  }),
  tool({
    name: 'cancel_run',
    title: 'Cancel a run',
    description: 'Cancels a queued run at once; tells a running one to end. follow_run waits until it has.',
    scope: 'run',
    input: Type.Object({ run: runId }, closed),
    run: async ({ run }, { engine, caller }) =>
      (await recordOf(await engine.runs.cancelShown(await wholeRun(engine.runs, run), caller.actor))).shown,
  }),
  tool({
    name: 'compare_runs',
    title: 'Compare two runs',
    description:
      'Returns where two runs differ: flow version, code, inputs, nodes, errors and results. Times are left out.',
    scope: 'read',
    input: Type.Object({ a: runId, b: runId }, closed),
    run: async ({ a, b }, { engine }) => {
      const facts = async (text: string) => {
        const id = await wholeRun(engine.runs, text)
        return { id, of: runFacts(await runOf(engine, id), await wholeNodesOf(engine, id)) }
      }
      const [left, right] = [await facts(a), await facts(b)]
      const found = runDifferences(left.of, right.of).map(({ path, a, b }) => ({
        path,
        a: shortened(a, DIFFERENCE_SHOWN),
        b: shortened(b, DIFFERENCE_SHOWN),
      }))
      return { a: left.id, b: right.id, differences: listOf(found, found.length, 0) }
    },
  }),
]
