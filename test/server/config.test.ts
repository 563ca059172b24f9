import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ServiceError } from '../../protocol/errors.ts'
import { readConfig } from '../../server/config.ts'

const read = (environment: Record<string, string> = {}, argv: string[] = [], cores = 6) =>
  readConfig({ argv, environment, cores, countCards: () => 3 })

const refusal = (environment: Record<string, string>, argv: string[] = []): ServiceError => {
  try {
    read(environment, argv)
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error))
    return error
  }
  assert.fail('it was taken')
}

describe('settings that nobody gave', () => {
  test('are those of a machine with six cores and three cards', () => {
    assert.deepEqual(read(), {
      max_runs: 4,
      max_cascades: 1_000,
      max_workers: 6,
      lanes: 5,
      isolation: 'thread',
      body_user: null,
      keep_node_errors: false,
      cpus: 4,
      gpus: 3,
      host: '127.0.0.1',
      port: 8_700,
      data_dir: null,
      global: false,
      database_path: null,
      node_venv: 'auto',
      timezone: 'UTC',
      trusted_proxies: [],
      public_url: null,
      mail: null,
      allowed_hosts: [],
      reach: { allow: [], deny: [] },
      max_artifact_bytes: 2 * 1024 ** 3,
      artifact_gc_interval_s: 3_600,
      artifacts_keep: { days: 0, bytes: 0 },
      artifact_volatile_bytes: 48 * 1024 * 1024,
      retention: {
        runs: { days: 0, bytes: 0, count: 0 },
        run_logs: { days: 0, bytes: 2 * 1024 ** 3, count: 0 },
        run_metrics: { days: 0, bytes: 8 * 1024 ** 3, count: 0 },
      },
      plain: false,
      example: false,
    })
  })

  test('give one core two workers, two lanes and one accounted core', () => {
    const { max_workers, lanes, cpus } = read({}, [], 1)
    assert.deepEqual({ max_workers, lanes, cpus }, { max_workers: 2, lanes: 2, cpus: 1 })
  })

  test('never make more than eight lanes', () => assert.equal(read({}, [], 64).lanes, 8))

  test('are also those that an empty variable leaves', () => assert.equal(read({ FLOW_MAX_RUNS: '' }).max_runs, 4))
})

describe('a count', () => {
  const VARIABLES = ['FLOW_MAX_RUNS', 'FLOW_MAX_CASCADES', 'FLOW_MAX_WORKERS', 'FLOW_LANES', 'FLOW_CPUS']
  for (const name of VARIABLES) {
    for (const text of ['0', '-1', '1.5', '1e3', '0x10', ' 4', 'four', 'NaN', '99999999999999999999']) {
      test(`of ${text} in ${name} is refused by name`, () => {
        const { code, detail } = refusal({ [name]: text })
        assert.equal(code, 'bad_setting')
        assert.ok(detail.includes(name) && detail.includes(JSON.stringify(text)), detail)
      })
    }
  }
  for (const flag of ['--max-runs', '--max-cascades', '--max-workers']) {
    test(`of 0 in ${flag} is refused by name`, () => assert.ok(refusal({}, [flag, '0']).detail.includes(flag)))
  }

  test('of nine lanes is one too many', () =>
    assert.match(refusal({ FLOW_LANES: '9' }).detail, /FLOW_LANES.*at most 8/))

  test('of no cards means counted, and below that is refused', () => {
    assert.equal(read({ FLOW_GPUS: '0' }).gpus, 3)
    assert.equal(read({ FLOW_GPUS: '2' }).gpus, 2)
    assert.match(refusal({ FLOW_GPUS: '-1' }).detail, /FLOW_GPUS/)
    assert.match(refusal({}, ['--gpus', '65']).detail, /--gpus.*0 to 64/)
  })
})

describe('a flag', () => {
  test('beats its variable', () => {
    const config = read({ FLOW_MAX_RUNS: '2', DATA_DIR: '/one' }, ['--max-runs', '7', '--data-dir=/two'])
    assert.deepEqual([config.max_runs, config.data_dir], [7, '/two'])
  })

  test('beats its variable even when that one is bad', () => {
    assert.equal(read({ FLOW_PORT: 'x' }, ['--port', '0']).port, 0)
  })

  test('counts as given last', () => assert.equal(read({}, ['--port', '1', '--port', '2']).port, 2))

  test('that nobody knows is refused by name', () => assert.match(refusal({}, ['--prot', '1']).detail, /--prot/))

  test('without its value is refused by name', () => assert.match(refusal({}, ['--port']).detail, /--port/))

  test('--global stands alone, and a variable gives way to it', () => {
    assert.match(refusal({}, ['--global', '--data-dir', 'x']).detail, /--data-dir.*--global/)
    assert.equal(read({ DATA_DIR: '/one' }, ['--global']).global, true)
  })
})

describe('DATABASE_URL', () => {
  for (const url of ['postgresql://user:hunter2@db/flows', 'mysql://db', 'redis://db', 'engine.db', '//db']) {
    test(`${url.replace('hunter2', '***')} is refused`, () => {
      const { code, detail } = refusal({ DATABASE_URL: url })
      assert.equal(code, 'wrong_database')
      assert.ok(detail.includes('DATABASE_URL') && !detail.includes('hunter2'), detail)
    })
  }

  test('may name the embedded database', () => {
    assert.equal(read({ DATABASE_URL: 'sqlite://' }).database_path, null)
    assert.equal(read({ DATABASE_URL: 'sqlite:///.svc/engine.db' }).database_path, '.svc/engine.db')
    assert.equal(read({ DATABASE_URL: 'sqlite:////srv/engine.db' }).database_path, '/srv/engine.db')
  })
})

describe('what is neither count nor flag', () => {
  test('a timezone is one that cron can use', () => {
    assert.equal(read({ TZ: 'Europe/Berlin' }).timezone, 'Europe/Berlin')
    assert.match(refusal({ TZ: 'Mars/Olympus' }).detail, /TZ/)
  })

  test('proxies are addresses and networks', () => {
    const given = '10.0.0.0/8, ::1 ,192.168.0.7'
    assert.deepEqual(read({ TRUSTED_PROXIES: given }).trusted_proxies, ['10.0.0.0/8', '::1', '192.168.0.7'])
    for (const bad of ['proxy.example', '10.0.0.0/33', '::/129', '10.0.0.0/8/8', '10.0.0.0/']) {
      assert.match(refusal({ TRUSTED_PROXIES: bad }).detail, /TRUSTED_PROXIES/)
    }
  })

  test('mail needs a server, a sender and the public address, and no refusal shows the password', () => {
    const all = {
      SMTP_URL: 'smtp://ada:p%40ss@mail.example',
      MAIL_FROM: 'E <e@b.example>',
      PUBLIC_URL: 'https://e.example',
    }
    assert.deepEqual(read(all).mail, {
      host: 'mail.example',
      port: 587,
      secure: false,
      user: 'ada',
      password: 'p@ss',
      from: 'E <e@b.example>',
    })
    assert.deepEqual([read(all).public_url, read(all).allowed_hosts], ['https://e.example', ['e.example']])
    assert.equal(read({ ...all, SMTP_URL: 'smtps://[::1]' }).mail!.port, 465)
    assert.equal(read({ PUBLIC_URL: 'http://e.example:8700/' }).public_url, 'http://e.example:8700')
    assert.match(refusal({ ...all, MAIL_FROM: '' }).detail, /needs MAIL_FROM/)
    assert.match(refusal({ ...all, PUBLIC_URL: '' }).detail, /needs PUBLIC_URL/)
    for (const bad of [
      'mail.example',
      'http://ada:p%40ss@mail.example',
      'smtp://ada:p%40ss@mail.example/box',
      'smtp://',
    ])
      assert.match(refusal({ ...all, SMTP_URL: bad }).detail, /^SMTP_URL (?!.*p%40ss)/, bad)
    for (const bad of ['e', 'E <e>', 'a@b, c@d', 'E\r\nBcc: x <e@b>', '"E" <e@b>'])
      assert.match(refusal({ ...all, MAIL_FROM: bad }).detail, /^MAIL_FROM/, bad)
    for (const bad of [
      'e.example',
      'ftp://e.example',
      'https://e.example/x',
      'https://a:b@e.example',
      'https://e.example?x',
    ])
      assert.match(refusal({ PUBLIC_URL: bad }).detail, /^PUBLIC_URL/, bad)
  })

  test('hosts are names and addresses without a port', () => {
    const given = 'engine.example, 192.168.0.7,::1,[2001:db8::1]'
    assert.deepEqual(read({ ALLOWED_HOSTS: given }).allowed_hosts, given.split(/, ?/))
    for (const bad of ['engine.example:8700', 'http://engine.example', '*', '.example', 'a b', '[a]'])
      assert.match(refusal({ ALLOWED_HOSTS: bad }).detail, /ALLOWED_HOSTS/, bad)
  })

  test('NODE_VENV is auto or managed', () => {
    assert.equal(read({ NODE_VENV: 'managed' }).node_venv, 'managed')
    assert.match(refusal({ NODE_VENV: 'conda' }).detail, /NODE_VENV/)
  })

  test('isolation is thread or process', () => {
    assert.equal(read({ FLOW_ISOLATION: 'process' }).isolation, 'process')
    assert.match(refusal({ FLOW_ISOLATION: 'container' }).detail, /FLOW_ISOLATION.*thread or process/)
  })

  test('ports end at 65535 and hosts are no addresses of pages', () => {
    assert.match(refusal({}, ['--port', '65536']).detail, /--port/)
    assert.match(refusal({}, ['--host', 'http://x']).detail, /--host/)
  })
})
