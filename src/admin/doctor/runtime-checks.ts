import { mkdtempSync, rmSync } from "node:fs"
import { freemem, tmpdir, totalmem } from "node:os"
import { join } from "node:path"
import { errorMessage } from "../../base/system-error.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import { fileSize } from "../../base/file-size.ts"
import { infoFinding, okFinding, type DoctorContext, type Finding, type Section } from "./finding.ts"

export const runtimeSection: Section = {
  title: "Runtime",
  check: async (context) => [
    nodeFinding(context),
    infoFinding(`${fileSize(totalmem())} memory, ${fileSize(freemem())} free`),
    await sqliteFinding(context),
  ],
}

function nodeFinding({ nodeProblem }: DoctorContext): Finding {
  return nodeProblem === undefined
    ? okFinding(`Node ${process.versions.node}`)
    : { level: "failure", text: nodeProblem }
}

/** Opens a temporary database, which runs the whole setup and the self-test with NUL characters. */
async function sqliteFinding({ clock }: DoctorContext): Promise<Finding> {
  const sqlite = `SQLite ${process.versions.sqlite ?? ""}`.trim()
  const log = { debug: () => undefined, warning: () => undefined }
  const directory = mkdtempSync(join(tmpdir(), "hermes-doctor-"))
  try {
    const store = await openSqliteStore({ path: join(directory, "probe.db"), clock, log })
    const { search } = store.info
    await store.close()
    if (search === "full") return okFinding(`${sqlite} with full-text and part-of-word search`)
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
