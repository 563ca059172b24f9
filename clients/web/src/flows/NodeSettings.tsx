import { useId, useState } from 'react'
import type { FlowNode } from '../../../../protocol/nouns/flow-document.ts'
import { Scroll } from '../parts/Scroll.tsx'

interface NodeSettingsProps {
  readonly node: FlowNode
  readonly isReadOnly: boolean
  onChange(change: Partial<FlowNode>): void
}

/** Settings and ports as JSON: what is no JSON is told and does not leave the field. */
export function NodeSettings({ node, isReadOnly, onChange }: NodeSettingsProps) {
  return (
    <Scroll className="flow-tab" label="Settings and ports">
      <div className="stack">
        <JsonField
          label="Settings"
          value={node.settings ?? {}}
          isReadOnly={isReadOnly}
          onChange={settings => onChange({ settings: settings as never })}
        />
        <JsonField
          label="Ports"
          value={node.ports}
          isReadOnly={isReadOnly}
          onChange={ports => onChange({ ports: ports as never })}
        />
      </div>
    </Scroll>
  )
}

function JsonField({
  label,
  value,
  isReadOnly,
  onChange,
}: {
  label: string
  value: unknown
  isReadOnly: boolean
  onChange(value: unknown): void
}) {
  const id = useId()
  const [text, setText] = useState(() => JSON.stringify(value, null, 2))
  const [isWrong, setWrong] = useState(false)
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        className="input m-long mono"
        id={id}
        rows={Math.min(18, text.split('\n').length + 1)}
        value={text}
        readOnly={isReadOnly}
        spellCheck={false}
        aria-invalid={isWrong}
        aria-describedby={`${id}-hint`}
        onChange={event => {
          setText(event.target.value)
          try {
            const read: unknown = JSON.parse(event.target.value)
            setWrong(typeof read !== 'object' || read === null || Array.isArray(read))
            if (typeof read === 'object' && read !== null && !Array.isArray(read)) onChange(read)
          } catch {
            setWrong(true)
          }
        }}
      />
      <p className={isWrong ? 'hint hint-error' : 'hint'} id={`${id}-hint`}>
        {isWrong ? 'This is no JSON object; the last one that was stays.' : 'JSON'}
      </p>
    </div>
  )
}
