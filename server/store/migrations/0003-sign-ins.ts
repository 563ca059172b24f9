/** Addresses are in the form by which attempts are counted. Times are milliseconds since 1970. A token of '' stands for all issued before `issued_at`. */
export const signIns = {
  number: 3,
  name: 'sign-ins',
  sql: `
CREATE TABLE known_addresses (
  user TEXT NOT NULL,
  address TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (user, address)
) STRICT, WITHOUT ROWID;

CREATE TABLE revoked_tokens (
  user TEXT NOT NULL,
  token TEXT NOT NULL,
  issued_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (user, token)
) STRICT, WITHOUT ROWID;
`,
}
