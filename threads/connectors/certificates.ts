/** By the code of an error of Node: what is wrong with the certificate of the other side, as sentences without their subject. */
const FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
}

/** Nobody who is trusted has signed it. */
const UNTRUSTED = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** `trust`: what to do when it is not trusted; `name`: when it is for another name. Null: the error is of another kind. */
export function certificateFault(code: string, trust: string, name: string): string | null {
  if (UNTRUSTED.has(code)) return `has a certificate that is not trusted; ${trust}`
  if (!Object.hasOwn(FAULTS, code)) return null
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? `${FAULTS[code]}; ${name}` : FAULTS[code]!
}
