import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { client } from '../engine/client.ts'
import { useMay } from '../engine/session.ts'
import { Button } from '../parts/Button.tsx'
import { Problem } from '../parts/Problem.tsx'
import { typedValue } from './tree.ts'

const LONG = new Set(['json', 'image', 'audio', 'video', 'artifact'])

/** Publishes one value. What is typed stays when it is refused. */
export function Publish({ name, dtype }: { name: string; dtype: string }) {
  const mayPublish = useMay('publish')
  const [text, setText] = useState('')
  const [wrong, setWrong] = useState<string | null>(null)
  const publish = useMutation({ mutationFn: (value: unknown) => client.messages.publish(name, value) })
  const id = useId()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const read = typedValue(text, dtype)
    setWrong('wrong' in read ? read.wrong : null)
    if ('value' in read) publish.mutate(read.value)
  }
  const field = {
    className: 'input',
    id,
    value: text,
    'aria-invalid': wrong !== null,
    'aria-describedby': `${id}-hint`,
    disabled: !mayPublish,
  }
  return (
    <form className="stack m-publish" onSubmit={submit}>
      <h3>Publish</h3>
      <div className="field">
        <label htmlFor={id}>Value</label>
        {dtype === 'bool' ? (
          <select {...field} className="select" onChange={event => setText(event.target.value)}>
            <option value="">Choose</option>
            <option value="true">yes</option>
            <option value="false">no</option>
          </select>
        ) : LONG.has(dtype) ? (
          <textarea {...field} className="input m-long" rows={4} onChange={event => setText(event.target.value)} />
        ) : (
          <input {...field} onChange={event => setText(event.target.value)} />
        )}
        <p className={wrong === null ? 'hint' : 'hint hint-error'} id={`${id}-hint`}>
          {wrong ?? (mayPublish ? hintOf(publish.data?.version) : 'Your role may not publish.')}
        </p>
      </div>
      {publish.error !== null && <Problem error={publish.error} />}
      <Button icon="play" type="submit" isBusy={publish.isPending} disabled={!mayPublish || publish.isPending}>
        Publish
      </Button>
    </form>
  )
}

const hintOf = (version: number | undefined): string =>
  version === undefined ? 'It goes to every node that reads this message.' : `Accepted as version ${version}.`
