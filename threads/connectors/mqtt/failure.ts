import { brokerKey } from '../../nodes/mqtt-settings.ts'
import { certificateFault } from '../certificates.ts'
import { AddressRefused } from '../reach.ts'

/** By the code of an error of Node. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses the connection',
  ENOTFOUND: 'has a name that is not known',
  EAI_AGAIN: 'has a name that cannot be looked up now',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached',
  ETIMEDOUT: 'cannot be reached',
  ERR_SSL_WRONG_VERSION_NUMBER: 'does not speak TLS; try mqtt:// in the setting url',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'wants a certificate; give one in the settings cert and key',
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'does not trust the certificate in the setting cert',
}

/** By the reason code of a CONNACK, of MQTT 3.1.1 and of 5. */
const REFUSALS: Readonly<Record<number, string>> = {
  1: 'does not speak this version of MQTT; try the setting protocol',
  2: 'does not take this client id',
  3: 'is not available',
  4: 'refuses the user name or the password',
  5: 'refuses the user name or the password',
  132: 'does not speak this version of MQTT; try the setting protocol',
  133: 'does not take this client id',
  134: 'refuses the user name or the password',
  135: 'refuses the user name or the password',
  136: 'is not available',
  137: 'is too busy',
  138: 'has banned this client',
}

/** By the reason code of an acknowledgement (MQTT 5). */
const MESSAGE_REFUSALS: Readonly<Record<number, string>> = {
  128: 'it does not say why',
  131: 'it does not say why',
  135: 'it is not allowed',
  144: 'it does not take the topic',
  151: 'a quota is exceeded',
  153: 'the payload is not what it says',
}

const of = (url: string): string => `the broker ${brokerKey(url) ?? url}`

/** A sentence without its full stop; it names the broker, without credentials. */
function reason(url: string, error: Error): string {
  if (error instanceof AddressRefused) return error.message
  const { code, errors } = error as { code?: unknown; errors?: Error[] }
  if (typeof code === 'number') return `${of(url)} ${REFUSALS[code] ?? `refuses: ${error.message}`}`
  if (typeof code === 'string') {
    const fault = certificateFault(
      code,
      'give that of its authority in the setting ca',
      'give that name in the setting server_name',
    )
    if (fault !== null) return `${of(url)} ${fault}`
    if (Object.hasOwn(REASONS, code)) return `${of(url)} ${REASONS[code]}`
    return `${of(url)} cannot be reached: ${error.message} (${code})`
  }
  // Several addresses of one name were tried.
  if (errors?.[0] !== undefined) return reason(url, errors[0])
  if (error.message === 'connack timeout') return `${of(url)} does not answer`
  return `the connection to ${brokerKey(url) ?? url} failed: ${error.message}`
}

/** Why a broker does not take a message, after "The broker refuses it: ". */
export const messageRefusal = (reason_code: number): string => MESSAGE_REFUSALS[reason_code] ?? `reason ${reason_code}`

export const brokerReason = Object.assign(reason, { of })
