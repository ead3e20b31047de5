// Bundles the command line into dist/: a tiny entry, and chunks that are loaded when they are needed.
import { execFileSync } from "node:child_process"
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import { build } from "esbuild"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const dist = join(root, "dist")

rmSync(dist, { recursive: true, force: true })
const result = await build({
  absWorkingDir: root,
  entryPoints: { hermes: "src/cli/hermes.ts" },
  outdir: dist,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node24",
  mainFields: ["module", "main"],
  chunkNames: "chunks/[name]-[hash]",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  external: ["@vscode/ripgrep"],
  define: { HERMES_BUILD: JSON.stringify(buildId()) },
  // CommonJS libraries inside the bundle ask for Node's built-ins through require.
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
  metafile: true,
  logLevel: "warning",
})
chmodSync(join(dist, "hermes.js"), 0o755)
writeFileSync(join(dist, "meta.json"), JSON.stringify(result.metafile))
writeFileSync(join(dist, "THIRD_PARTY_NOTICES"), notices(Object.keys(result.metafile.inputs)))

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
function notices(inputs) {
  const packages = new Set(
    inputs.flatMap((input) => {
      const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)
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
