import { realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Command } from 'commander'
import { INSTALLATION_NAME } from '../../../../protocol/installation.ts'
import { limits } from '../../../../protocol/limits.ts'
import type { Flow, SavedFlow, SaveFlow } from '../../../../protocol/nouns/flow.ts'
import { EXIT, type ExitCode } from '../../../../protocol/settings.ts'
import { Client } from '../../../client/client.ts'
import { ClientError } from '../../../client/client-error.ts'
import { type Context, engineOf } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { Failure, failureOf, usage } from '../../failure.ts'
import type { FoundEngine } from '../../find-engine.ts'
import { printPlan, printSynced } from '../../output/sync-text.ts'
import { modulesToRead, type ReadAnswer, readModules } from '../../sync/modules.ts'
import { planOf, type SyncPlan, type SyncSource } from '../../sync/plan.ts'
import type { FoundFlow } from '../../sync/read-module.ts'
import { type Repository, repositoryAt } from '../../sync/repository.ts'

interface SyncOptions {
  readonly diff?: boolean
  readonly force?: boolean
  readonly timeout?: number
  readonly json?: boolean
}

/** The outcome for one flow; `saved` is null when nothing was written. */
interface Synced {
  readonly plan: SyncPlan
  readonly saved: SavedFlow | null
  readonly failure: Failure | null
}

export function addSync(program: Command, context: Context): void {
  program
    .command('sync')
    .description('upload the flows that are declared in code')
    .argument('[files...]', 'the modules that export them (default: those in the nearest folder "flows")')
    .option('--diff', 'show what would change, and change nothing')
    .option('--force', 'overwrite bodies that were edited by hand')
    .option(
      '--timeout <seconds>',
      `how long a module may take to load (default: ${limits.SYNC_MODULE_S})`,
      countOf('--timeout'),
    )
    .option('--json', 'print JSON')
    .action(async (files: string[], options: SyncOptions, command: Command) => {
      const engine = engineOf(context, command)
      const client = new Client(engine)
      const repository = repositoryAt(context.cwd)
      const modules = modulesToRead(files, realpathSync(context.cwd), repository.root)
      const timeout_ms = (options.timeout ?? limits.SYNC_MODULE_S) * 1000
      context.output.progress(`reading ${modules.length} modules ...`)
      const answers = await readModules(modules, repository.root, timeout_ms)
      context.output.progress('')
      const broken = tellModules(context, answers, files.length > 0)
      const plans = await plansOf(client, answers, sourceOf(repository, engine, answers, context))
      if (options.diff) {
        if (options.json) context.output.json({ flows: plans.map(jsonOf) })
        else showPlans(context, plans)
      } else await sync(context, client, plans, options)
      if (broken !== null) throw broken
    })
}

/** Prints the output of modules. Returns how the command ends when some of them gave no flows. */
function tellModules({ output }: Context, answers: readonly ReadAnswer[], isNamed: boolean): Failure | null {
  const failed: string[] = []
  for (const { file, flows, printed, failure } of answers) {
    if (printed !== '') output.note(`${file} printed:\n${printed}`)
    if (failure !== null) failed.push(`${file}: ${failure}`)
    else if (isNamed && flows.length === 0) failed.push(`${file} exports no flow.`)
  }
  const count = answers.reduce((sum, { flows }) => sum + flows.length, 0)
  if (failed.length === 0 && count > 0) return null
  const broken = new Failure(
    EXIT.failed,
    failed.length === 0 ? 'No module exports a flow.' : 'Some modules could not be read.',
    failed,
  )
  if (count === 0) throw broken
  return broken
}

/** Throws a Failure when bodies could not find the code. Warns about changes that runs could not detect. */
function sourceOf(
  { root, address, commit, isDirty, tracked }: Repository,
  engine: FoundEngine,
  answers: readonly ReadAnswer[],
  { output }: Context,
): SyncSource {
  const untracked = [...new Set(answers.flatMap(({ files }) => files))].filter(file => !tracked.has(file)).sort()
  if (untracked.length > 0)
    output.note(
      `git does not track ${untracked.join(', ')}, so the code digest of runs and the stage cache ignore changes there. Add with "git add".`,
    )
  return {
    root,
    bodies_folder: join(dataDirectory(root, engine), 'bodies'),
    repository: address,
    commit: isDirty || untracked.length > 0 ? `${commit}-dirty` : commit,
  }
}

/** The data directory of the engine. For an engine elsewhere it is assumed to be `.svc` in the root of its copy of the repository. */
function dataDirectory(root: string, { data_dir }: FoundEngine): string {
  if (data_dir === null) return join(root, INSTALLATION_NAME)
  const real = realpathSync(data_dir)
  if (!relative(root, real).startsWith('..')) return real
  throw usage(
    `The engine keeps its data in ${real}, outside of the repository ${root}, so its bodies cannot import code from there. Start an engine in the repository with "svc serve".`,
  )
}

/** One plan for each flow that the modules export. Throws a Failure when two export different flows with the same name. */
async function plansOf(client: Client, answers: readonly ReadAnswer[], source: SyncSource): Promise<SyncPlan[]> {
  const known = new Map<string, { readonly file: string; readonly found: FoundFlow }>()
  for (const { file, flows } of answers)
    for (const found of flows) {
      const other = known.get(found.name)
      if (other === undefined) known.set(found.name, { file, found })
      // A module may re-export a flow of another one.
      else if (!isDeepStrictEqual(other.found, found))
        throw new Failure(EXIT.failed, `${other.file} and ${file} export two different flows "${found.name}".`)
    }
  const plans: SyncPlan[] = []
  for (const { file, found } of known.values())
    plans.push(planOf(found, file, await storedFlow(client, found.name), source))
  return plans
}

async function storedFlow(client: Client, name: string): Promise<Flow | null> {
  try {
    return await client.flows.get(name)
  } catch (error) {
    if (error instanceof ClientError && error.code === 'flow_not_found') return null
    throw error
  }
}

function showPlans({ output }: Context, plans: readonly SyncPlan[]): void {
  for (const plan of plans) printPlan(output, plan)
  const edits = plans.flatMap(plan => plan.hand_edits)
  if (edits.length > 0)
    output.note(['A sync would stop here without --force:', ...edits.map(edit => `  ${edit}`)].join('\n'))
}

/** Stops before the first write when something would be lost. Ends with a refresh, because threads keep the files that they have loaded. */
async function sync(context: Context, client: Client, plans: readonly SyncPlan[], options: SyncOptions): Promise<void> {
  const edits = options.force ? [] : plans.flatMap(plan => plan.hand_edits)
  if (edits.length > 0)
    throw new Failure(
      EXIT.refused,
      'Nothing was written, because it would overwrite changes made by hand. Copy these changes into the code, or give --force.',
      edits,
    )
  const done: Synced[] = []
  for (const plan of plans) done.push(await save(client, plan))
  await client.refreshModules()
  tellSynced(context, done, options)
  const failed = done.flatMap(({ plan, failure }) => (failure === null ? [] : [{ plan, failure }]))
  if (failed.length === 0) return
  const code: ExitCode = failed[0]!.failure.exit_code
  const places = failed.flatMap(({ plan, failure }) => [`${plan.name}: ${failure.message}`, ...failure.places])
  throw new Failure(code, `${failed.length} of ${plans.length} flows could not be saved.`, places)
}

/** Saves a flow; a refusal does not stop the others. */
async function save(client: Client, plan: SyncPlan): Promise<Synced> {
  if (!plan.isChanged) return { plan, saved: null, failure: null }
  const { document, origin, version: base_version } = plan
  const message = `sync of ${origin.commit}`
  try {
    const request = { document, origin, base_version, message } as SaveFlow
    return { plan, saved: await client.flows.save(plan.name, request), failure: null }
  } catch (error) {
    if (!(error instanceof ClientError) || error.status === null || error.status >= 500 || error.status === 401)
      throw error
    return { plan, saved: null, failure: failureOf(error) }
  }
}

function tellSynced({ output }: Context, done: readonly Synced[], { json }: SyncOptions): void {
  if (json) {
    const flows = done.map(({ plan, saved, failure }) => ({
      ...jsonOf(plan),
      saved,
      failure: failure?.message ?? null,
    }))
    return output.json({ flows, refreshed: true })
  }
  for (const { plan, saved, failure } of done) {
    if (saved !== null) printSynced(output, saved)
    else if (failure === null) output.lines([`${plan.name}  unchanged, version ${plan.version}`])
  }
}

const jsonOf = ({ name, file, version, isChanged, differences, hand_edits, origin }: SyncPlan) => ({
  name,
  file,
  version,
  changed: isChanged,
  differences,
  hand_edits,
  origin,
})
