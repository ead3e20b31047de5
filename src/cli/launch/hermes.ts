// Runs Hermes from its sources. The built command starts with launcher.ts.
import { main } from "./main.ts"

process.exit(await main(process.argv.slice(2)))
