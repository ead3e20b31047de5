// Bundles the command line into dist/: a tiny entry, and chunks that are loaded when they are needed.
import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import { rolldown } from "rolldown"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const dist = join(root, "dist")

/**
 * Opening a file costs a start more than reading it, so what is always needed together travels together: each chunk holds
 * everything its files import, less what an earlier chunk holds. All other files are split by who needs them.
 */
const CHUNKS = {
  entry: ["src/cli/main.ts"],
  start: ["src/cli/process-run.ts"],
  settings: ["src/config/load.ts", "src/config/dotenv.ts"],
  store: ["src/state/sqlite/open-store.ts"],
  talk: [
    "src/cli/commands/chat.ts",
    "src/cli/chat/one-shot.ts",
    "src/llm/model-client.ts",
    "src/llm/wire/chat-completions.ts",
  ],
}

const bundle = await rolldown({
  cwd: root,
  input: { hermes: "src/cli/hermes.ts" },
  platform: "node",
  external: ["@lydell/node-pty", "@vscode/ripgrep"],
  preserveEntrySignatures: "allow-extension",
  transform: { target: "node24", define: { HERMES_BUILD: JSON.stringify(buildId()) } },
  checks: { ineffectiveDynamicImport: false },
  onLog: (level, log) => {
    if (level === "warn") throw new Error(log.message)
  },
})
let places
const { output } = await bundle.generate({
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "chunks/[name]-[hash].js",
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      {
        debugName: "what travels together",
        name: (id, context) => {
          places ??= placesOf(context)
          return places.get(id) ?? null
        },
      },
    ],
  },
})
await bundle.close()
rmSync(dist, { recursive: true, force: true })
const chunks = output.filter((file) => file.type === "chunk")
mkdirSync(join(dist, "chunks"), { recursive: true })
for (const chunk of chunks) writeFileSync(join(dist, chunk.fileName), chunk.code)
chmodSync(join(dist, "hermes.js"), 0o755)
writeFileSync(join(dist, "meta.json"), JSON.stringify(metadata(chunks)))
writeFileSync(join(dist, "THIRD_PARTY_NOTICES"), notices(chunks.flatMap((chunk) => chunk.moduleIds)))

/** The chunk of every file that is to travel with others. */
function placesOf(context) {
  const found = new Map()
  for (const [chunk, entries] of Object.entries(CHUNKS)) {
    const waiting = entries.map((path) => join(root, path))
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (found.has(id)) continue
      found.set(id, chunk)
      for (const imported of context.getModuleInfo(id)?.importedIds ?? []) waiting.push(imported)
    }
  }
  return found
}

/** Which files each chunk holds and what it loads with it; the start-up test reads this. */
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

/** The licences of everything that was bundled. */
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
      // Not this spelling; the package.json names the licence in any case.
    }
  }
  return ""
}
