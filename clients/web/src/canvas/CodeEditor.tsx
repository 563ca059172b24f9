import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete'
import { javascript } from '@codemirror/lang-javascript'
import { python } from '@codemirror/lang-python'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, setDiagnostics } from '@codemirror/lint'
import { Annotation, EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { basicSetup } from 'codemirror'
import { useEffect, useRef } from 'react'

export interface Mistake {
  /** From 1. */
  readonly line: number
  readonly column: number
  readonly text: string
}

interface CodeEditorProps {
  readonly source: string
  readonly language: 'ts' | 'js' | 'python'
  readonly isReadOnly: boolean
  /** What may stand behind `inputs.`, `ctx.` and the like. */
  readonly words: readonly string[]
  readonly mistake: Mistake | null
  readonly label: string
  onChange(source: string): void
  onSave(): void
}

/** The text was replaced by the page, and nobody typed it. */
const fromOutside = Annotation.define<boolean>()

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
  { tag: [tags.function(tags.variableName), tags.typeName, tags.className], color: 'var(--code-name)' },
  { tag: tags.comment, color: 'var(--code-comment)' },
])
const LOOK = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--surface)', fontSize: '12px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px' },
  '.cm-gutters': { color: 'var(--ink-3)', backgroundColor: 'var(--surface)', border: '0' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--ink)', border: '1px solid var(--line-2)' },
})

/**
 * CodeMirror in a shadow root: only there it brings its styles as sheets, which the policy of the page allows. A changed `source` from outside
 * replaces the text; what is typed is told at once.
 */
export default function CodeEditor(props: CodeEditorProps) {
  const { source, language, isReadOnly, mistake, label } = props
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const latest = useRef(props)
  latest.current = props
  // biome-ignore lint/correctness/useExhaustiveDependencies: `source` is the text to begin with; what comes later is set below
  useEffect(() => {
    const box = place.current!
    const root = box.shadowRoot ?? box.attachShadow({ mode: 'open' })
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: source,
        extensions: [
          basicSetup,
          language === 'python' ? python() : javascript({ typescript: language === 'ts' }),
          syntaxHighlighting(COLOURS),
          LOOK,
          EditorState.readOnly.of(isReadOnly),
          EditorView.contentAttributes.of({ 'aria-label': label }),
          autocompletion({ override: [context => completions(context, latest.current.words)] }),
          EditorView.updateListener.of(update => {
            const isOurs = update.transactions.some(one => one.annotation(fromOutside))
            if (update.docChanged && !isOurs) latest.current.onChange(update.state.doc.toString())
          }),
          EditorView.domEventHandlers({
            keydown: event => {
              if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return false
              event.preventDefault()
              latest.current.onSave()
              return true
            },
          }),
        ],
      }),
    })
    view.current = made
    return () => {
      made.destroy()
      view.current = null
    }
  }, [language, isReadOnly, label])
  useEffect(() => {
    const made = view.current
    if (made === null || made.state.doc.toString() === source) return
    made.dispatch({
      changes: { from: 0, to: made.state.doc.length, insert: source },
      annotations: fromOutside.of(true),
    })
  }, [source])
  useEffect(() => {
    const made = view.current
    if (made === null) return
    const diagnostics =
      mistake === null || mistake.line > made.state.doc.lines ? [] : [diagnosticOf(made.state, mistake)]
    made.dispatch(setDiagnostics(made.state, diagnostics))
  }, [mistake])
  return <div className="editor" ref={place} />
}

function diagnosticOf({ doc }: EditorState, { line, column, text }: Mistake): Diagnostic {
  const at = doc.line(line)
  const from = Math.min(at.to, at.from + Math.max(0, column - 1))
  return { from, to: Math.min(at.to, from + 1), severity: 'error', message: text }
}

function completions(context: CompletionContext, words: readonly string[]): CompletionResult | null {
  const word = context.matchBefore(/[\w.]+/)
  if (word === null && !context.explicit) return null
  return { from: word?.from ?? context.pos, options: words.map(label => ({ label, type: 'variable' })) }
}
