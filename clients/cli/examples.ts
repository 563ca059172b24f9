import type { Command } from 'commander'

const RUN = '0190f3c2-7b1e-7cc3-98c4-dc0c0c07398f'
const CASCADE = '0190f3c2-7b1e-7cc3-98c4-dc0c0c073990'
const DIGEST = `sha256:${'5a'.repeat(32)}`

/**
 * Lines to paste, by command, printed after the help of each. They are in one place, so that a test can run each of them through a
 * shell and the parser. The flows are those of `svc serve --example`.
 */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  serve: ['svc serve --example', 'svc serve --port 0 --plain --data-dir /srv/engine'],
  login: ['svc login https://engine.example --username ada'],
  logout: ['svc logout', 'svc logout https://engine.example'],
  status: ['svc status', 'svc status --json'],
  top: ['svc top', 'svc top --url http://127.0.0.1:8700', 'svc top --plain'],
  'flows list': ['svc flows', 'svc flows list --json'],
  'flows get': ['svc flows get machine > machine.json'],
  'flows put': [
    'svc flows put machine machine.json --message "slower"',
    'svc flows put detector docs/examples/detector',
  ],
  'flows set': [
    'svc flows set machine replay.speed 20',
    `svc flows set machine alarm.raise_at 3.5 --message "earlier"`,
  ],
  'flows enable': ['svc flows enable machine'],
  'flows disable': ['svc flows disable host'],
  'flows rename': ['svc flows rename machine mill'],
  'flows delete': ['svc flows delete host'],
  'flows history': ['svc flows history machine', 'svc flows history machine c4daa4de'],
  'flows restore': ['svc flows restore machine c4daa4de'],
  'flows purge': ['svc flows purge machine'],
  publish: [
    'svc publish machine.temperature 5000',
    `svc publish boiler.limits '{"low": 1, "high": 2}'`,
    'svc publish boiler.offset -- -5',
  ],
  tail: ['svc tail', 'svc tail machine.alarm host', 'svc tail machine.alarm --json --count 1'],
  watch: ['svc watch bottles.frame --out newest.jpg', 'svc watch bottles.level --count 5'],
  'messages list': ['svc messages', 'svc messages list machine'],
  'messages get': ['svc messages get machine.temperature'],
  history: ['svc history machine.temperature', 'svc history machine.temperature --bucket 60 --limit 10'],
  events: ['svc events', 'svc events --follow --flow machine', 'svc events --type node_error --limit 5'],
  'cascades list': ['svc cascades', 'svc cascades list machine --status interrupted'],
  'cascades show': [`svc cascades show ${CASCADE}`],
  'cascades rerun': [`svc cascades rerun ${CASCADE}`],
  'nodes show': ['svc nodes show machine.alarm'],
  'nodes errors': ['svc nodes errors machine.alarm'],
  fires: ['svc fires plant.morning'],
  'nodes ack': ['svc nodes ack machine.alarm'],
  'nodes types': ['svc nodes types', 'svc nodes types http'],
  issues: ['svc issues', 'svc issues --flow machine --json'],
  run: ['svc run detector -p series=machine -p window=12', 'svc run detector --local --follow -p series=machine'],
  sweep: ['svc sweep detector --param series=machine,ambient --param window=6,12,24 --dry-run'],
  'runs list': [
    'svc runs',
    'svc runs list detector --status failed',
    "svc runs list detector --where 'input.threshold<4' --sort -input.window",
  ],
  'runs show': [`svc runs show ${RUN}`],
  'runs diff': [`svc runs diff ${RUN} 0190f3c3-0000-7cc3-98c4-dc0c0c07398f`],
  'runs follow': [`svc runs follow ${RUN}`],
  'runs tag': [`svc runs tag ${RUN} baseline --remove draft`],
  'runs note': [`svc runs note ${RUN} "the one to beat"`],
  'runs cancel': [`svc runs cancel ${RUN}`],
  'runs delete': [`svc runs delete ${RUN}`],
  'runs logs': [`svc runs logs ${RUN}`],
  why: [`svc why ${RUN} smooth`],
  retry: [`svc retry ${RUN}`, 'svc retry --group night'],
  'export metrics': ['svc export metrics detector --format jsonl', 'svc export metrics --group night -o metrics.csv'],
  'export runs': ['svc export runs detector -o runs.csv'],
  'flavors list': ['svc flavors'],
  'flavors put': ['svc flavors put large --cpus 8 --ram 32G', 'svc flavors put card --gpus 1'],
  'flavors delete': ['svc flavors delete large'],
  'dashboards list': ['svc dashboards'],
  'dashboards get': ['svc dashboards get hall > hall.json'],
  'dashboards put': ['svc dashboards put hall hall.json', 'svc dashboards put hall hall.json --base-version 3'],
  'dashboards diff': ['svc dashboards diff hall hall.json'],
  'dashboards history': ['svc dashboards history hall', 'svc dashboards history hall 2'],
  'dashboards restore': ['svc dashboards restore hall 2'],
  'dashboards delete': ['svc dashboards delete hall'],
  'dashboards types': ['svc dashboards types'],
  'panels list': ['svc panels'],
  'panels create': ['svc panels create entrance hall'],
  'panels set': ['svc panels set entrance hall office'],
  'panels approve': ['svc panels approve entrance K7Q2MX'],
  'panels unpair': ['svc panels unpair entrance'],
  'panels delete': ['svc panels delete entrance'],
  search: ['svc search boiler', 'svc search "api key" --limit 5'],
  'secrets list': ['svc secrets', 'svc secrets list --json'],
  'secrets set': ['svc secrets set "api key"', 'svc secrets set broker-password'],
  'secrets delete': ['svc secrets delete "api key"'],
  'secrets rekey': ['svc secrets rekey'],
  sync: ['svc sync --diff', 'svc sync flows/boiler.ts'],
  'modules refresh': ['svc modules refresh'],
  'artifacts list': ['svc artifacts', 'svc artifacts list --limit 10'],
  'artifacts get': [`svc artifacts get ${DIGEST} picture.png`],
  'artifacts put': ['svc artifacts put picture.png'],
  'artifacts verify': ['svc artifacts verify'],
  'artifacts sweep': ['svc artifacts sweep'],
  'users list': ['svc users'],
  'users set': ['svc users set ada --role operator', 'svc users set ada --mail ada@example.org'],
  'users disable': ['svc users disable ada'],
  'users enable': ['svc users enable ada'],
  'users add': ['svc users add ada --role viewer', 'svc users add grafana --password-file secret.txt'],
  'users remove': ['svc users remove ada'],
  'users passwd': ['svc users passwd'],
  'users reset': ['svc --url https://engine.example users reset eyJhbGciOiJFZERTQSJ9.e30.c2lnbmF0dXJl'],
  audit: ['svc audit', 'svc audit --actor ada --follow', 'svc audit --action sign_in --limit 50'],
  'tokens list': ['svc tokens'],
  'tokens create': ['svc tokens create prometheus --rights metrics --expires 1y'],
  'tokens revoke': ['svc tokens revoke prometheus'],
  'clients list': ['svc clients'],
  'clients add': ['svc clients add claude --scopes read publish run --expires 90d'],
  'clients delete': ['svc clients delete 0190f3c2-0000-7bb2-87b3-cb0b0b96297e'],
  completion: [
    'd=~/.local/share/bash-completion/completions; mkdir -p $d && svc completion bash > $d/svc',
    'mkdir -p ~/.zfunc && svc completion zsh > ~/.zfunc/_svc',
    'd=~/.config/fish/completions; mkdir -p $d && svc completion fish > $d/svc.fish',
  ],
  complete: ['svc complete flows get ma'],
  help: ['svc help', 'svc help flows put'],
}

export function addExamples(command: Command, path: readonly string[] = []): void {
  for (const each of command.commands) {
    const words = [...path, each.name()]
    addExamples(each, words)
    const lines = EXAMPLES[words.join(' ')]
    if (lines === undefined) continue
    each.addHelpText(
      'after',
      `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.map(line => `  ${line}`).join('\n')}`,
    )
  }
}
