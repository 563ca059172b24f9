import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RealEngine } from './real-engine.ts'
import { ROOT } from './sources.ts'
import { directoryFor, type Ending, Spawned } from './spawned.ts'

export interface Said {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A git repository of a user, with this package linked into its node_modules. */
export class UserRepository {
  readonly root: string
  readonly #t: Ending

  constructor(t: Ending) {
    this.#t = t
    this.root = directoryFor(t)
    this.git('init', '--quiet')
    this.write('package.json', '{ "name": "plant", "private": true, "type": "module" }\n')
    this.write('.gitignore', 'node_modules\n.svc\n')
    mkdirSync(join(this.root, 'node_modules'))
    symlinkSync(ROOT, join(this.root, 'node_modules', 'flow-engine'))
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true })
    writeFileSync(join(this.root, path), text)
  }

  remove(path: string): void {
    rmSync(join(this.root, path), { recursive: true })
  }

  git(...words: string[]): string {
    const identity = ['-c', 'user.name=tests', '-c', 'user.email=tests@localhost', '-c', 'commit.gpgsign=false']
    return execFileSync('git', [...identity, ...words], { cwd: this.root, encoding: 'utf8' }).trim()
  }

  /** Of everything; answers the commit. */
  commit(): string {
    this.git('add', '--all')
    this.git('commit', '--quiet', '--allow-empty', '--message', 'as it is')
    return this.git('rev-parse', 'HEAD')
  }

  /** The engine of the `.svc` in the root. */
  serve(): Promise<RealEngine> {
    return RealEngine.start(this.#t, { data_dir: join(this.root, '.svc') })
  }

  async svc(...argv: string[]): Promise<Said> {
    return this.svcIn('.', {}, ...argv)
  }

  async svcIn(folder: string, environment: Record<string, string>, ...argv: string[]): Promise<Said> {
    const run = Spawned.svc(this.#t, { argv, cwd: join(this.root, folder), environment })
    run.child.stdin!.end()
    const { code } = await run.ended
    return { code, stdout: run.stdout, stderr: run.stderr }
  }

  /** A sync that has to do what it was asked for. */
  async sync(...argv: string[]): Promise<Said> {
    const said = await this.svc('sync', ...argv)
    assert.equal(said.code, 0, said.stderr)
    return said
  }
}
