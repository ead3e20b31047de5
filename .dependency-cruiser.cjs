// The layer table of docs/architecture.md as data. A folder may import from lower rows only, never from its own row.
const LAYERS = [
  ["base"],
  ["protocol", "terminal"],
  ["config"],
  ["llm", "state", "exec", "policy", "knowledge"],
  ["toolkit"],
  ["tools", "mcp"],
  ["agent"],
  ["plugins"],
  ["app"],
  ["admin", "cron", "kanban", "batch"],
  ["commands"],
  ["tui", "gateway", "server", "acp"],
  ["cli"],
]

const layerRules = LAYERS.flatMap((row, index) =>
  row.flatMap((name) => {
    const above = [...row.filter((other) => other !== name), ...LAYERS.slice(index + 1).flat()]
    if (above.length === 0) return []
    return [
      {
        name: `layer:${name}`,
        severity: "error",
        from: { path: `^src/${name}/` },
        to: { path: `^src/(${above.join("|")})/` },
      },
    ]
  }),
)

module.exports = {
  forbidden: [
    ...layerRules,
    {
      // Types may pass: what the command line can do, every other surface can do too, through app, admin and commands.
      name: "surfaces-through-app-and-admin",
      severity: "error",
      from: { path: "^src/(commands|cli|tui|gateway|server|acp)/" },
      to: { path: "^src/(llm|state|exec|knowledge|mcp)/", dependencyTypesNot: ["type-only"] },
    },
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "no-orphans",
      severity: "error",
      from: { orphan: true, path: "^src/", pathNot: "\\.test\\.ts$" },
      to: {},
    },
    {
      name: "sql-only-in-state",
      severity: "error",
      from: { path: "^src/", pathNot: ["^src/state/", "\\.test\\.ts$"] },
      to: { path: "^(node:)?sqlite$" },
    },
    {
      name: "processes-only-in-exec",
      severity: "error",
      // Locks are below exec, and flock(2) can be reached only through a program.
      from: { path: "^src/", pathNot: ["^src/exec/", "^src/base/flock\\.ts$", "\\.test\\.ts$"] },
      to: { path: "^(node:)?child_process$" },
    },
    {
      name: "source-knows-no-tests",
      severity: "error",
      from: { path: "^src/", pathNot: "\\.test\\.ts$" },
      to: { path: "^(test|scripts)/" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // Tests import from everywhere on purpose, and the parser does not know `await using` yet.
    exclude: { path: "\\.test\\.ts$|^test/" },
    parser: "swc",
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: [".ts", ".mjs", ".js", ".json"] },
  },
}
