import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { RunLogLine } from '../../../protocol/nouns/run-log.ts'
import { LogFollowers } from '../../../server/fanout/log-followers.ts'
import { FrontDouble, type SocketDouble } from '../../kit/socket-double.ts'

/** A run `r` whose lines are written while it goes on. */
function room() {
  const lines: RunLogLine[] = []
  let isOver = false
  const followers = new LogFollowers(
    {
      page: async ({ run, after }) => {
        if (run === 'unknown') throw new ServiceError('run_not_found', `There is no run ${run}.`)
        const items = lines.slice(after, after + 10)
        const next = after + items.length
        return { run, items, next_after: isOver && next >= lines.length ? null : next, dropped: 0 }
      },
    },
    error => assert.fail(String(error)),
  )
  const write = (count: number, text = 'line'): void => {
    const line = { ts: '', node: 'body', attempt: 1, level: 'info', text } as const
    for (let at = 0; at < count; at++) lines.push({ seq: lines.length + 1, ...line })
    followers.written('r')
  }
  const end = (): void => {
    isOver = true
    followers.written('r')
  }
  const front = new FrontDouble()
  return { followers, write, end, connect: () => front.connect() }
}

const seqs = (socket: SocketDouble): number[] =>
  socket.frames('log_lines').flatMap(frame => (frame['items'] as RunLogLine[]).map(({ seq }) => seq))
const upTo = (count: number, from = 1): number[] => Array.from({ length: count - from + 1 }, (_, at) => from + at)
const isLast = (socket: SocketDouble): boolean => socket.frames('log_lines').at(-1)?.['next_after'] === null
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 100; turn++) await setImmediate()
}

test('two followers of a run get every line once, each from its position, until the run has ended', async () => {
  const { followers, write, end, connect } = room()
  const [early, late] = [connect(), connect()]
  followers.follow(early, 'r', 0)
  for (let at = 0; at < 35; at++) write(1)
  await settled()
  followers.follow(late, 'r', 30)
  write(5)
  await settled()
  assert.deepEqual([seqs(early), seqs(late)], [upTo(40), upTo(40, 31)])
  assert.ok(!isLast(early))
  write(1)
  end()
  await settled()
  assert.deepEqual([seqs(early), isLast(early), seqs(late), isLast(late)], [upTo(41), true, upTo(41, 31), true])
})

test('a slow follower gets the same lines later, and holds no other back', async () => {
  const { followers, write, end, connect } = room()
  const [quick, slow] = [connect(), connect()]
  slow.reads = false
  for (const socket of [quick, slow]) followers.follow(socket, 'r', 0)
  write(500, 'l'.repeat(limits.SOCKET_LOG_BYTES / 5))
  end()
  await settled()
  assert.deepEqual([seqs(quick), isLast(quick)], [upTo(500), true])
  assert.ok(slow.bufferedAmount() < 4 * limits.SOCKET_LOG_BYTES)
  while (!isLast(slow)) {
    slow.read()
    followers.drained(slow)
    await settled()
    slow.reads = false
  }
  assert.deepEqual(seqs(slow), upTo(500))
})

test('a follower of a run that has ended gets its log and the end; one of an unknown run an error that names it', async () => {
  const { followers, write, end, connect } = room()
  write(3)
  end()
  const socket = connect()
  followers.follow(socket, 'r', 1)
  followers.follow(socket, 'unknown', 0)
  await settled()
  assert.deepEqual([seqs(socket), isLast(socket)], [[2, 3], true])
  const [error] = socket.frames('error')
  assert.deepEqual([error!['run'], (error!['problem'] as { code: string }).code], ['unknown', 'run_not_found'])
})

test('who has stopped to follow, or has gone, gets nothing more', async () => {
  const { followers, write, connect } = room()
  const [stopped, gone] = [connect(), connect()]
  for (const socket of [stopped, gone]) followers.follow(socket, 'r', 0)
  await settled()
  followers.unfollow(stopped, 'r')
  followers.closed(gone)
  write(1)
  await settled()
  assert.deepEqual([seqs(stopped), seqs(gone)], [[], []])
})

test('a connection follows so many runs and no more', () => {
  const { followers, connect } = room()
  const socket = connect()
  for (let run = 0; run < limits.SOCKET_LOGS; run++) followers.follow(socket, `r${run}`, 0)
  assert.throws(() => followers.follow(socket, 'r', 0), { code: 'too_large' })
  followers.follow(socket, 'r1', 5)
})
