#!/usr/bin/env node
// The default import also links on an old Node that lacks the function, so that `main` can name the version it needs.
import module from "node:module"
module.enableCompileCache?.()
const { main } = await import("./main.ts")
process.exit(await main(process.argv.slice(2)))
