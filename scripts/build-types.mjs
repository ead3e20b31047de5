// Writes the type declarations of the library (src/index.ts) and of plugins (src/plugin.ts) to dist/types, or to the directory given as argument.
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const target = resolve(process.argv[2] ?? join(root, "dist", "types"))
const scratch = mkdtempSync(join(tmpdir(), "hermes-types-"))
try {
  const emitted = emitDeclarations()
  rmSync(target, { recursive: true, force: true })
  for (const file of reachableFrom([join(emitted, "index.d.ts"), join(emitted, "plugin.d.ts")])) {
    const copy = join(target, relative(emitted, file))
    mkdirSync(dirname(copy), { recursive: true })
    writeFileSync(copy, readFileSync(file, "utf8").replaceAll(/(\bfrom "\.[^"]*)\.ts"/gu, '$1.js"'))
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

/** The compiler writes a file for each module that the library is built from. */
function emitDeclarations() {
  const out = join(scratch, "out")
  const project = join(scratch, "tsconfig.json")
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    // `npm run check` does that.
    noCheck: true,
    stripInternal: true,
    rewriteRelativeImportExtensions: true,
    rootDir: join(root, "src"),
    outDir: out,
    typeRoots: [join(root, "node_modules", "@types")],
  }
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      compilerOptions,
      files: [join(root, "src", "index.ts"), join(root, "src", "plugin.ts")],
      include: [],
    }),
  )
  execFileSync(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "--project", project], {
    stdio: ["ignore", "inherit", "inherit"],
  })
  return out
}

/** The declarations that users of the library see. The others describe its inside. */
function reachableFrom(entries) {
  const found = new Set(entries)
  for (const file of found) {
    for (const [, specifier] of readFileSync(file, "utf8").matchAll(/\bfrom "([^"]+)"|\bimport\("([^"]+)"\)/gu)) {
      if (!specifier?.startsWith(".")) throw new Error(`${file} needs the types of another package: ${specifier}`)
      found.add(join(dirname(file), specifier.replace(/\.[jt]s$/u, ".d.ts")))
    }
  }
  return found
}
