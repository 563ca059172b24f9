import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { EXIT } from '../../../protocol/settings.ts'

/** Questions on the terminal; they go to stderr, since stdout is for data. */
export const ask = (stdin: NodeJS.ReadStream, question: string): Promise<string> =>
  readAnswer(stdin, question, process.stderr)

/** The answer is not shown. */
export const askHidden = (stdin: NodeJS.ReadStream, question: string): Promise<string> =>
  readAnswer(stdin, question, new Writable({ write: (_chunk, _encoding, done) => done() }))

function readAnswer(stdin: NodeJS.ReadStream, question: string, echo: NodeJS.WritableStream): Promise<string> {
  process.stderr.write(question)
  const lines = createInterface({ input: stdin, output: echo, terminal: true })
  return new Promise(resolve => {
    lines.once('SIGINT', () => {
      lines.close()
      process.stderr.write('\n')
      process.exit(EXIT.interrupted)
    })
    lines.once('line', line => {
      lines.close()
      if (echo !== process.stderr) process.stderr.write('\n')
      resolve(line)
    })
  })
}
