import { createPublicKey } from 'node:crypto'
import { type CryptoKey, importPKCS8, importSPKI } from 'jose'

/** The installation's key pair (Ed25519). Whoever has the private half can sign in as anybody. */
export interface SigningKey {
  readonly sign: CryptoKey
  readonly check: CryptoKey
}

/** From the PKCS #8 PEM that the installation keeps in a file of mode 600. */
export async function signingKeyOf(pem: string): Promise<SigningKey> {
  const spki = createPublicKey(pem).export({ type: 'spki', format: 'pem' }).toString()
  return { sign: await importPKCS8(pem, 'EdDSA'), check: await importSPKI(spki, 'EdDSA') }
}
