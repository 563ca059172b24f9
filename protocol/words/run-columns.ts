/** Columns of a runs export that are there when they are asked for. */
export const EXPORT_RUN_COLUMNS = ['seed', 'group', 'groups', 'tags', 'note', 'created_at', 'error'] as const
export type ExportRunColumn = (typeof EXPORT_RUN_COLUMNS)[number]
