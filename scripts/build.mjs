// Bundles the command line into dist/: a tiny entry, and chunks that are loaded when they are needed.
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import { rolldown } from "rolldown"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const dist = join(root, "dist")
const draft = `${dist}.${process.pid}`

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

/** CommonJS, because the launcher compiles the chunks itself; names stay, so that a stack trace can be read. */
const FORM = {
  format: "cjs",
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
}

const bundle = await rolldown({
  cwd: root,
  input: { main: "src/cli/main.ts", "image-worker": "src/llm/vision/image-worker.ts" },
  platform: "node",
  external: ["@lydell/node-pty", "@silvia-odwyer/photon-node", "@vscode/ripgrep"],
  preserveEntrySignatures: "allow-extension",
  transform: { target: "node24", define: { HERMES_BUILD: JSON.stringify(buildId()) } },
  checks: { ineffectiveDynamicImport: false },
  onLog: failOnWarning,
})
let places
const { output } = await bundle.generate({
  ...FORM,
  entryFileNames: (entry) => (entry.name === "main" ? "chunks/[name]-[hash].js" : "[name].js"),
  chunkFileNames: "chunks/[name]-[hash].js",
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
const chunks = output.filter((file) => file.type === "chunk")
const launcher = await buildLauncher(chunks.find((chunk) => chunk.isEntry && chunk.name === "main").fileName)
mkdirSync(join(draft, "chunks"), { recursive: true })
for (const chunk of chunks)
  writeFileSync(join(draft, chunk.fileName), asciiOnly(withPlainExports(withRequire(chunk.code))))
writeFileSync(join(draft, "hermes.js"), launcher, { mode: 0o755 })
writeFileSync(join(draft, "package.json"), '{ "type": "commonjs" }\n')
writeFileSync(join(draft, "meta.json"), JSON.stringify(metadata(chunks)))
writeFileSync(join(draft, "THIRD_PARTY_NOTICES"), notices(chunks.flatMap((chunk) => chunk.moduleIds)))
rmSync(dist, { recursive: true, force: true })
renameSync(draft, dist)

/** The file that loads the chunks, and knows the name of the first. */
async function buildLauncher(main) {
  const built = await rolldown({
    cwd: root,
    input: { hermes: "src/cli/launcher.ts" },
    platform: "node",
    transform: { target: "node18", define: { HERMES_MAIN: JSON.stringify(basename(main)) } },
    onLog: failOnWarning,
  })
  const { output: files } = await built.generate({ ...FORM, banner: "#!/usr/bin/env node" })
  await built.close()
  return files[0].code
}

function failOnWarning(level, log) {
  if (level === "warn") throw new Error(log.message)
}

/** Packages that are not bundled are loaded as the chunks are: a script of `node:vm` has no `import()` without a warning of Node's. */
function withRequire(code) {
  return code.replaceAll(/\bimport\(`([^`]+)`\)/g, "Promise.resolve().then(()=>require(`$1`))")
}

/** No export of ours ever changes, and a getter for each costs at the start and at every use. */
function withPlainExports(code) {
  const getter = /Object\.defineProperty\(exports,"([\w$]+)",\{enumerable:!0,get:function\(\)\{return ([\w$]+)\}\}\)/g
  return code.replaceAll(getter, "exports.$1=$2")
}

/**
 * One character beyond Latin-1 makes V8 keep two bytes for every character of a chunk, and read twice as much. Raw strings are left
 * alone: in them an escape is no escape.
 */
function asciiOnly(code) {
  if (code.includes("String.raw")) return code
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

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
