import { writeSync } from "node:fs"
import { createRequire } from "node:module"

import { codeCacheFolder } from "../config/code-cache-folder.ts"
import { createChunkLoader } from "./chunk-loader.ts"

/** The chunk that holds `main.ts`; set by the build, which makes `dist/hermes.js` of this file. */
declare const HERMES_MAIN: string

const SAVE_AFTER_MS = 3000

const { load, save } = createChunkLoader({
  folder: `${import.meta.dirname}/chunks/`,
  cache: codeCacheFolder(),
  require: createRequire(import.meta.filename),
})
// What a long session needed at its start is stored before V8 drops it, and while the person reads or types.
setTimeout(save, SAVE_AFTER_MS).unref()
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
  if (typeof main !== "function") throw new Error(`${HERMES_MAIN} is incomplete; install Hermes again`)
  return Number(await main(process.argv.slice(2)))
}
