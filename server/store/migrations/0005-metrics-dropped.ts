/** How many points of a node of a run were not kept. */
export const metricsDropped = {
  number: 5,
  name: 'metrics-dropped',
  sql: `
ALTER TABLE run_nodes ADD COLUMN metrics_dropped INTEGER NOT NULL DEFAULT 0;
`,
} as const
