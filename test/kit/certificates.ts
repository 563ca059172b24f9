import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** For the options of a test that needs certificates: why it cannot run here, or false. */
export const skipCertificates =
  spawnSync('openssl', ['version']).status === 0
    ? false
    : 'needs openssl, which makes certificates: it is not installed'

/** PEM, and the paths of the files. */
export interface Certificate {
  readonly cert: string
  readonly key: string
  readonly cert_path: string
  readonly key_path: string
}

/** An authority of the test, and certificates that it signs; the files go with the test. */
export class Authority {
  readonly #folder: string
  readonly certificate: Certificate

  constructor(t: { after(end: () => void): void }, name = 'authority of the test') {
    this.#folder = mkdtempSync(join(tmpdir(), 'certificates-'))
    t.after(() => rmSync(this.#folder, { recursive: true, force: true }))
    this.certificate = this.#make('authority', ['-x509', '-subj', `/CN=${name}`])
  }

  /** PEM. */
  get ca(): string {
    return this.certificate.cert
  }

  /** `names` as in a certificate: `IP:127.0.0.1`, `DNS:localhost`. */
  sign(name: string, names: string, days = 2): Certificate {
    const { cert_path, key_path } = this.certificate
    return this.#make(name, [
      ...[
        '-x509',
        '-subj',
        `/CN=${name}`,
        '-addext',
        `subjectAltName=${names}`,
        '-addext',
        'basicConstraints=CA:FALSE',
      ],
      ...['-CA', cert_path, '-CAkey', key_path, '-days', String(days)],
    ])
  }

  #make(name: string, more: readonly string[]): Certificate {
    const [key_path, cert_path] = [join(this.#folder, `${name}.key`), join(this.#folder, `${name}.crt`)]
    const made = spawnSync(
      'openssl',
      [
        'req',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-keyout',
        key_path,
        '-out',
        cert_path,
        ...more,
      ],
      { encoding: 'utf8' },
    )
    if (made.status !== 0) throw new RangeError(`openssl: ${made.stderr}`)
    return { cert: readFileSync(cert_path, 'utf8'), key: readFileSync(key_path, 'utf8'), cert_path, key_path }
  }
}
