/** The codes of RFC 6749 5.2 and 4.1.2.1, RFC 7591 3.2.2 and RFC 8707 2 that are used here. */
export type OAuthCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied'
  | 'temporarily_unavailable'

/** A refusal as OAuth clients read it: `{error, error_description}` with status 400, or 401 for an unknown client. */
export class OAuthError extends Error {
  readonly code: OAuthCode

  constructor(code: OAuthCode, description: string) {
    super(description)
    this.code = code
  }

  get status(): number {
    return this.code === 'invalid_client' ? 401 : this.code === 'temporarily_unavailable' ? 503 : 400
  }
}
