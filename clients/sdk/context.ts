import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import type { OutputPorts, OutputValues } from './ports.ts'

/** What a body may store: bytes, a text (as UTF-8), or a stream of those. */
export type ArtifactContent =
  | string
  | ArrayBuffer
  | ArrayBufferView
  | AsyncIterable<string | ArrayBuffer | ArrayBufferView>
  | Iterable<string | ArrayBuffer | ArrayBufferView>

/** What a body finds beside its inputs; docs/bodies.md says what each does. */
export interface Context<S = Readonly<Record<string, unknown>>, O = OutputPorts> {
  /** The node's settings: the declared defaults, with what a use gave in place of them. */
  readonly settings: Readonly<S>
  // biome-ignore lint/suspicious/noExplicitAny: what a body keeps is its own affair, and its shape is nowhere declared
  state: Record<string, any>
  readonly flow: string
  readonly node: string
  /** The batch run; null in live execution. */
  readonly run: { readonly id: string } | null
  readonly signal: AbortSignal
  emit(outputs: OutputValues<O>): Promise<void>
  metric(name: string, value: number, step?: number | null): void
  artifact(
    content: ArtifactContent,
    media_type: string,
    options?: { meta?: Record<string, unknown>; volatile?: boolean },
  ): Promise<ArtifactReference>
  keep(reference: ArtifactReference): Promise<ArtifactReference>
  secret(name: string | { readonly secret: string }): Promise<string>
  read(reference: ArtifactReference): Promise<Uint8Array>
  log(text: unknown, level?: 'debug' | 'info' | 'warn' | 'error'): void
  report(status: 'ok' | 'down', text?: string): void
}
