import { writeSync } from "node:fs"
import { createRequire } from "node:module"

import { codeCacheDirectory } from "../../config/code-cache-directory.ts"
import { createChunkLoader } from "./chunk-loader.ts"

/** The chunk that contains `main.ts`. The build defines it when it compiles this file to `dist/hermes.js`. */
declare const HERMES_MAIN: string

const SAVE_AFTER_MS = 3000

const { load, save, finishStart } = createChunkLoader({
  directory: `${import.meta.dirname}/chunks/`,
  cacheDirectory: codeCacheDirectory(),
  require: createRequire(import.meta.filename),
})
// Long sessions save early, before V8 discards compiled functions, and while the process is idle.
setTimeout(() => {
  finishStart()
  save()
}, SAVE_AFTER_MS).unref()
// Also when `main` ends the process itself.
process.once("exit", finishStart)
start().then(
  (code) => {
    if (code === 0) save()
    process.exit(code)
  },
  (error: unknown) => {
    writeSync(2, `Hermes could not start: ${error instanceof Error ? error.stack : String(error)}\n`)
    process.exit(1)
  },
)

async function start(): Promise<number> {
  const { main } = load(`./${HERMES_MAIN}`)
  if (typeof main !== "function") throw new Error(`${HERMES_MAIN} is incomplete; reinstall Hermes`)
  return Number(await main(process.argv.slice(2)))
}
