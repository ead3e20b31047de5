import { mkdtempSync, rmSync } from "node:fs"
import { freemem, tmpdir, totalmem } from "node:os"
import { join } from "node:path"
import { systemClock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import { fileSize } from "../file-size.ts"
import { nodeFloorProblem } from "../version.ts"
import { good, note, type Finding, type Section } from "./finding.ts"

export const runtimeSection: Section = {
  title: "Runtime",
  check: async () => [
    nodeVersion(),
    note(`${fileSize(totalmem())} memory, ${fileSize(freemem())} free`),
    await sqliteFeatures(),
  ],
}

function nodeVersion(): Finding {
  const problem = nodeFloorProblem(process.versions.node)
  return problem === undefined ? good(`Node ${process.versions.node}`) : { level: "failure", text: problem }
}

/** A throw-away database passes through the whole set-up, the self-test with NUL characters included. */
async function sqliteFeatures(): Promise<Finding> {
  const sqlite = `SQLite ${process.versions.sqlite ?? ""}`.trim()
  const log = { debug: () => undefined, warning: () => undefined }
  const directory = mkdtempSync(join(tmpdir(), "hermes-doctor-"))
  try {
    const store = await openSqliteStore({ path: join(directory, "probe.db"), clock: systemClock, log })
    const { search } = store.facts
    await store.close()
    if (search === "full") return good(`${sqlite} with full-text and part-of-word search`)
    return {
      level: "warning",
      text: search === "none" ? `${sqlite} has no full-text search` : `${sqlite} cannot search for parts of words`,
    }
  } catch (error) {
    return { level: "failure", text: `${sqlite} cannot be used: ${errorMessage(error)}` }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
