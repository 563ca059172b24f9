/** Roles of users, and records of the service: clients, secrets, panels, dashboards. */
export const access = {
  number: 17,
  name: 'access',
  sql: `
ALTER TABLE users ADD COLUMN role TEXT NOT NULL DEFAULT 'editor';
ALTER TABLE users ADD COLUMN display_name TEXT;
ALTER TABLE users ADD COLUMN mail TEXT;
ALTER TABLE users ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;
UPDATE users SET role = 'superuser' WHERE superuser = 1;
CREATE TABLE records (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
`,
} as const
