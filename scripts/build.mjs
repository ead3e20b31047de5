// Bundles the command line into dist/: a small entry, and chunks that load on demand.
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import { rolldown } from "rolldown"
import { parseAst } from "rolldown/parseAst"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const dist = join(root, "dist")
const temporary = `${dist}.${process.pid}`

/**
 * Opening a file costs more start-up time than reading it, so modules that load together share a chunk. Each chunk contains its
 * files and all their imports, except those of earlier chunks. The bundler splits the remaining modules.
 */
const CHUNKS = {
  entry: ["src/cli/launch/main.ts"],
  start: ["src/cli/process-run.ts", "src/cli/commands/chat.ts"],
  screen: ["src/tui/full/full-ui.ts"],
  settings: ["src/config/load-config.ts", "src/config/dotenv.ts"],
  store: ["src/state/sqlite/open-store.ts"],
  talk: [
    "src/cli/chat/run-chat.ts",
    "src/cli/chat/one-shot.ts",
    "src/llm/model-client.ts",
    "src/llm/wire/chat-completions/wire.ts",
  ],
  turns: ["src/tui/conversation/conversation.ts", "src/tui/full/full-chat-ui.ts"],
  mcp: ["src/mcp/prompt-commands.ts", "src/mcp/select-servers.ts", "src/mcp/servers.ts", "src/mcp/tool-entries.ts"],
  call: [
    "src/agent/dispatch/batch.ts",
    "src/agent/dispatch/policy-request.ts",
    "src/agent/learning-notes.ts",
    "src/exec/checkpoints/checkpoints.ts",
    "src/exec/checkpoints/checkpoint-settings.ts",
    "src/policy/decide.ts",
    "src/policy/provenance/call-sinks.ts",
    "src/toolkit/define-tool.ts",
  ],
  command: [
    "src/exec/local/named-pipe-pool.ts",
    "src/exec/local/shell-prewarmer.ts",
    "src/exec/local/spawn-helper.ts",
    "src/policy/judge-command.ts",
    "src/tools/terminal/run-terminal.ts",
    "src/tools/terminal/terminal.ts",
  ],
}

/** CommonJS, because the launcher compiles the chunks itself. Names are kept for readable stack traces. */
const OUTPUT_OPTIONS = {
  format: "cjs",
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
}

/**
 * Without the limit, the garbage of a long conversation takes 64 MB before V8 collects it. With more threads for V8, collecting 4 MB wakes
 * all of them, which takes longer than the work.
 */
const LAUNCHER_LINE = "#!/usr/bin/env -S node --max-semi-space-size=4 --v8-pool-size=1"

const bundle = await rolldown({
  cwd: root,
  input: {
    main: "src/cli/launch/main.ts",
    "image-worker": "src/llm/vision/image-worker.ts",
    index: "src/index.ts",
  },
  platform: "node",
  // Its paths are for types only.
  tsconfig: false,
  external: ["@lydell/node-pty", "@silvia-odwyer/photon-node", "@vscode/ripgrep", /^@anthropic-ai\/sandbox-runtime\//],
  preserveEntrySignatures: "allow-extension",
  transform: { target: "node24", define: { HERMES_BUILD: JSON.stringify(buildId()) } },
  checks: { ineffectiveDynamicImport: false },
  plugins: [withoutSdkWarnings()],
  onLog: failOnWarning,
})
let chunkByModule
const { output } = await bundle.generate({
  ...OUTPUT_OPTIONS,
  entryFileNames: (entry) => (entry.name === "main" ? "chunks/[name]-[hash].js" : "[name].js"),
  chunkFileNames: "chunks/[name]-[hash].js",
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      {
        debugName: "modules that load together",
        name: (id, context) => {
          chunkByModule ??= assignChunks(context)
          return chunkByModule.get(id) ?? null
        },
      },
    ],
  },
})
await bundle.close()
const chunks = output.filter((file) => file.type === "chunk")
const launcher = await buildLauncher(chunks.find((chunk) => chunk.isEntry && chunk.name === "main").fileName)
mkdirSync(join(temporary, "chunks"), { recursive: true })
for (const chunk of chunks)
  writeFileSync(join(temporary, chunk.fileName), asciiOnly(withPlainExports(withRequire(chunk.code))))
writeFileSync(join(temporary, "hermes.js"), launcher, { mode: 0o755 })
writeFileSync(join(temporary, "package.json"), '{ "type": "commonjs" }\n')
writeFileSync(join(temporary, "meta.json"), JSON.stringify(metadata(chunks)))
writeFileSync(join(temporary, "THIRD_PARTY_NOTICES"), notices(chunks.flatMap((chunk) => chunk.moduleIds)))
rmSync(dist, { recursive: true, force: true })
renameSync(temporary, dist)

/** Builds the file that loads the chunks, starting with `main`. */
async function buildLauncher(main) {
  const built = await rolldown({
    cwd: root,
    input: { hermes: "src/cli/launch/launcher.ts" },
    platform: "node",
    transform: { target: "node18", define: { HERMES_MAIN: JSON.stringify(basename(main)) } },
    onLog: failOnWarning,
  })
  const { output: files } = await built.generate({ ...OUTPUT_OPTIONS, banner: LAUNCHER_LINE })
  await built.close()
  return files[0].code
}

/** The MCP SDK writes warnings to the terminal, and some contain text of the server. What matters is in the errors that it throws. */
function withoutSdkWarnings() {
  return {
    name: "without-sdk-warnings",
    transform: {
      filter: { id: /[/\\]@modelcontextprotocol[/\\](?:client|server)[/\\]/ },
      handler: (code) => ({ code: code.replaceAll("console.warn(", "void ("), map: null }),
    },
  }
}

function failOnWarning(level, log) {
  if (level === "warn") throw new Error(log.message)
}

/** Loads external packages with `require`, because `import()` in a `node:vm` script makes Node print a warning. */
function withRequire(code) {
  return code.replaceAll(/\bimport\(`([^`]+)`\)/g, "Promise.resolve().then(()=>require(`$1`))")
}

/** Replaces the getters of exports with plain values, which are faster. This is safe because no export is reassigned. */
function withPlainExports(code) {
  const getter = /Object\.defineProperty\(exports,"([\w$]+)",\{enumerable:!0,get:function\(\)\{return ([\w$]+)\}\}\)/g
  return code.replaceAll(getter, "exports.$1=$2")
}

/**
 * A single character outside Latin-1 makes V8 store two bytes for every character of a chunk. `String.raw` templates are left
 * unchanged, because escapes have no effect there.
 */
function asciiOnly(code) {
  if (!/[^\0-\x7f]/.test(code)) return code
  const raw = code.includes("String.raw") ? rawTemplates(parseAst(code)) : []
  const isRaw = (index) => raw.some(({ start, end }) => start <= index && index < end)
  return code.replaceAll(/[^\0-\x7f]/g, (unit, index) =>
    isRaw(index) ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}

/** The text parts of tagged templates. */
function rawTemplates(node) {
  if (node === null || typeof node !== "object") return []
  const own = node.type === "TaggedTemplateExpression" ? node.quasi.quasis : []
  return [...own, ...Object.values(node).flatMap(rawTemplates)]
}

/** Maps each module in `CHUNKS` and all its imports to the name of their chunk. */
function assignChunks(context) {
  const assigned = new Map()
  for (const [chunk, entries] of Object.entries(CHUNKS)) {
    const pending = entries.map((path) => join(root, path))
    for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
      if (assigned.has(id)) continue
      assigned.set(id, chunk)
      for (const imported of context.getModuleInfo(id)?.importedIds ?? []) pending.push(imported)
    }
  }
  return assigned
}

/** Lists the modules and the static imports of each chunk, for the start-up test. */
function metadata(all) {
  return {
    chunks: Object.fromEntries(
      all.map((chunk) => [
        chunk.fileName,
        {
          files: chunk.moduleIds.map((id) => relative(root, id)),
          imports: chunk.imports.filter((name) => !name.startsWith("node:")),
        },
      ]),
    ),
  }
}

function buildId() {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim()
  } catch {
    return "unversioned"
  }
}

/** Collects the licences of all bundled packages. */
function notices(ids) {
  const packages = new Set(
    ids.flatMap((id) => {
      const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)
      return found === null ? [] : [found[1]]
    }),
  )
  return [...packages]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((name) => {
      const directory = join(root, "node_modules", name)
      const facts = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"))
      return `${name} ${facts.version} (${facts.license})\n\n${licenceText(directory)}`
    })
    .join("\n\n----------------------------------------\n\n")
}

function licenceText(directory) {
  for (const name of ["LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE", "license"]) {
    try {
      return readFileSync(join(directory, name), "utf8").trim()
    } catch {
      // Try the next name. package.json states the licence in any case.
    }
  }
  return ""
}
