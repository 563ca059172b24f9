import { type MessagePort, threadId } from 'node:worker_threads'
import { Masks } from '../../core/masks/table.ts'
import type { LogLevel } from '../../protocol/nouns/run-log.ts'
import type { FromCall } from '../lane/messages.ts'
import { SecretAsks } from '../secret-asks.ts'
import { BuiltIns } from './built-ins.ts'
import { type BodyPlace, type KnownNode, knownNode, NodeCallTask } from './call.ts'
import { type CallLine, type CallListener, LaneLine } from './call-line.ts'
import { bodyInStack, failureOf } from './node-call.ts'
import { PrintedOutput, type PrintTarget } from './printed/output.ts'
import { type CallTask, type FromSlot, makeRoom, type SlotTask, type ToSlot } from './slot-messages.ts'

/** A call slot: one long task of a pool thread, which runs one body at a time until the thread is ended. */
export default function slot(task: SlotTask): Promise<never> {
  new CallSlot(task).start()
  return new Promise(() => {})
}

class CallSlot implements CallLine, PrintTarget {
  readonly #port: MessagePort
  readonly #place: BodyPlace
  readonly #built_ins: BuiltIns
  readonly #nodes = new Map<number, KnownNode>()
  readonly #printed: PrintedOutput
  readonly #secrets = new SecretAsks((ask, name) => this.#say({ type: 'secret', ask, name }))
  /** What runs. */
  #task: NodeCallTask | null = null
  #call = 0
  /** The digest of the body that runs. */
  #running: string | null = null
  /** Of a batch run: what is said to its body comes over this port. */
  #listener: CallListener | null = null

  constructor({ port, place, masks: sab, taken, prints }: SlotTask) {
    this.#port = port
    const masks = new Masks(sab)
    process.on('uncaughtException', error => this.#escaped(error))
    this.#printed = new PrintedOutput(this, prints)
    this.#built_ins = new BuiltIns()
    this.#place = {
      ...place,
      taken,
      mask: text => masks.text(text),
      secret: (name, node) => this.#secrets.ask(name, node),
      loaded: () => this.#built_ins.loaded(),
      ended: () => {
        this.#printed.flush()
        this.#built_ins.restore()
      },
    }
  }

  start(): void {
    this.#port.on('message', (message: ToSlot) => {
      if (message.type === 'call') {
        // Before anything of the body: a call that has not begun may be given to another slot.
        this.#say({ type: 'begun' })
        void this.#run(message)
      } else if (message.type === 'secret') this.#secrets.answered(message)
      else if (message.call === this.#call) this.#listener?.receive(message.message)
    })
    this.#say({ type: 'ready', thread: threadId })
  }

  send(message: FromCall): void {
    this.#say(message)
  }

  printed(line: string, level: LogLevel): boolean {
    return this.#task?.printed(line, level) ?? false
  }

  #say(message: FromSlot): void {
    this.#port.postMessage(message)
  }

  async #run(task: CallTask): Promise<void> {
    const { port } = task
    const call = new NodeCallTask(task, this.#known(task), this.#place, listener => {
      if (port !== null) return new LaneLine(port, listener)
      this.#call = task.call
      this.#listener = listener
      return this
    })
    this.#running = call.node.digest
    this.#task = call
    this.#built_ins.undo()
    const outcome = await call.run()
    // Once more: getters of what it answered have run since it ended.
    const lost = this.#built_ins.restore()
    if (lost !== null) throw new TypeError(`It has made ${lost} so that it cannot be put back for the next body.`)
    this.#running = null
    this.#task = null
    this.#listener = null
    if (port === null) return this.#say(outcome)
    port.postMessage(outcome)
    port.close()
    this.#say({ type: 'done' })
  }

  /** A timer or a floating promise threw. An error of the running body ends the thread; an error of an earlier body is ignored. */
  #escaped(error: unknown): void {
    const digest = bodyInStack(error)
    if (this.#running === null || (digest !== null && digest !== this.#running)) return
    throw error instanceof Error ? error : new TypeError(failureOf(error).message)
  }

  #known({ key, node }: CallTask): KnownNode {
    if (key === null) return knownNode(node!)
    if (node !== null) {
      makeRoom(this.#nodes)
      this.#nodes.set(key, knownNode(node))
    }
    return this.#nodes.get(key)!
  }
}
