/** Operations on the database of an engine that does not run. */
export { type Exported, exportReadable } from '../repair/export.ts'
export { type Finding, type Verification, verify } from '../repair/verify.ts'
