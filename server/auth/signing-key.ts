import { createHash, createPublicKey } from 'node:crypto'
import { type CryptoKey, importPKCS8, importSPKI } from 'jose'

/** The installation's key pair (Ed25519). Whoever has the private half can sign in as anybody. */
export interface SigningKey {
  readonly sign: CryptoKey
  readonly check: CryptoKey
  /** Tells installations apart, and nothing of the key. */
  readonly id: string
}

/** From the PKCS #8 PEM that the installation keeps in a file of mode 600. */
export async function signingKeyOf(pem: string): Promise<SigningKey> {
  const spki = createPublicKey(pem).export({ type: 'spki', format: 'pem' }).toString()
  const id = createHash('sha256').update(spki).digest('hex').slice(0, 8)
  return { sign: await importPKCS8(pem, 'EdDSA'), check: await importSPKI(spki, 'EdDSA'), id }
}
