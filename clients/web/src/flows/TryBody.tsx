import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { FlowNode } from '../../../../protocol/nouns/flow-document.ts'
import type { TriedNode } from '../../../../protocol/nouns/node.ts'
import type { Mistake } from '../canvas/CodeEditor.tsx'
import { client } from '../engine/client.ts'
import { useMay } from '../engine/session.ts'
import { Button } from '../parts/Button.tsx'
import { durationText } from '../parts/format.ts'
import { Problem } from '../parts/Problem.tsx'

interface TryBodyProps {
  readonly flow: string
  readonly node: FlowNode
  /** Inputs to begin with, such as those of a failed execution; null: the newest values. */
  readonly given: Readonly<Record<string, unknown>> | null
  /** Where the body failed, for the editor; null: it did not. */
  onMistake(mistake: Mistake | null): void
}

/** Runs the body as it stands in the editor, once, and shows what it does. Nothing is published or kept. */
export function TryBody({ flow, node, given, onMistake }: TryBodyProps) {
  const mayCode = useMay('code')
  const [text, setText] = useState(() => (given === null ? '' : JSON.stringify(given, null, 1)))
  const [isWrong, setWrong] = useState(false)
  const trial = useMutation({
    mutationFn: (inputs: Record<string, unknown> | null) =>
      client.nodes.try(`${flow}.${node.id}`, {
        ...(inputs === null ? {} : { inputs }),
        source: node.source ?? '',
        settings: node.settings ?? {},
      }),
    onSuccess: ({ error }) =>
      onMistake(error?.line == null ? null : { line: error.line, column: error.column ?? 1, text: error.message }),
  })
  const run = (): void => {
    const inputs = inputsOf(text)
    setWrong(inputs === undefined)
    if (inputs !== undefined) trial.mutate(inputs)
  }
  return (
    <section className="try" aria-label="Try the body">
      <div className="row">
        <h3 className="grow">Try</h3>
        <Button
          icon="play"
          disabled={!mayCode || trial.isPending}
          isBusy={trial.isPending}
          title={mayCode ? undefined : 'Your role may not run code that is not deployed.'}
          onClick={run}
        >
          Run
        </Button>
      </div>
      <textarea
        className="input m-long"
        aria-label="Inputs"
        aria-invalid={isWrong}
        rows={Math.min(6, Math.max(2, text.split('\n').length))}
        placeholder="inputs as JSON; empty: the newest values"
        spellCheck={false}
        value={text}
        onChange={event => setText(event.target.value)}
      />
      {isWrong && <p className="hint hint-error">Inputs are a JSON object by port, such as {'{"raw": 71.5}'}.</p>}
      {trial.error !== null && <Problem error={trial.error} />}
      {trial.data !== undefined && <Tried tried={trial.data} />}
    </section>
  )
}

/** Null: nothing is given; undefined: it is no JSON object. */
function inputsOf(text: string): Record<string, unknown> | null | undefined {
  if (text.trim() === '') return null
  try {
    const read: unknown = JSON.parse(text)
    return typeof read === 'object' && read !== null && !Array.isArray(read)
      ? (read as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

function Tried({ tried }: { tried: TriedNode }) {
  const { inputs, outputs, emissions, emitted, log, log_dropped, error, duration_s } = tried
  return (
    <div className="stack try-result" role="status">
      <p className="well">in {JSON.stringify(inputs)}</p>
      {error === null ? (
        <p className="well">out {JSON.stringify(outputs)}</p>
      ) : (
        <p className="notice notice-error">
          {error.line === null ? '' : `${error.line}:${error.column ?? 1} `}
          {error.message}
        </p>
      )}
      {emitted > 0 && (
        <p className="well">
          emitted {emitted}: {emissions.map(values => JSON.stringify(values)).join('\n')}
        </p>
      )}
      {log.length > 0 && (
        <p className="well">
          {log.map(({ text }) => text).join('\n')}
          {log_dropped > 0 && `\n${log_dropped} more`}
        </p>
      )}
      <p className="small muted">
        {durationText(duration_s)} in a place of its own. Nothing was published, state is unchanged.
      </p>
    </div>
  )
}
