/** The commit that the engine read at the claim; `origin_commit` is the one that came with the run, if one did. */
export const codeCommit = {
  number: 7,
  name: 'code-commit',
  sql: `
ALTER TABLE runs ADD COLUMN code_commit TEXT;
`,
} as const
