import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs"
import { resolve } from "node:path"
import { errorCode, explainSystemError } from "../../../base/system-error.ts"
import type { SessionId } from "../../../protocol/identifiers.ts"
import type { SessionStore } from "../../../state/store.ts"
import { CliError, type Invocation } from "../../command.ts"
import { namedSession, noSession, withSessions } from "../../session-store.ts"
import { counted } from "../../text-layout.ts"

/** `hermes sessions export OUT`: one session with all its messages per line. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, signal } = invocation
  const [out = "-"] = positionals
  const wanted = flags.text("session-id")
  const count = await withSessions(home, {
    absent: () => {
      if (wanted !== undefined) throw noSession([wanted])
      return 0
    },
    work: async (store) => {
      const ids = await chosenIds(store, { wanted, source: flags.text("source") })
      const lines = exportLines(store, { ids, signal })
      if (out !== "-") return writeLines(resolve(out), lines)
      let printed = 0
      for await (const line of lines) {
        terminal.line(line)
        await terminal.flush()
        if (terminal.closed) break
        printed += 1
      }
      return printed
    },
  })
  if (out !== "-")
    terminal.line(count === 0 ? "There are no sessions to export." : `Exported ${counted(count, "session")} to ${out}.`)
  return 0
}

async function chosenIds(
  store: SessionStore,
  options: { readonly wanted: string | undefined; readonly source: string | undefined },
): Promise<readonly SessionId[]> {
  if (options.wanted !== undefined) return [(await namedSession(store, [options.wanted])).id]
  const nodes = await store.lineage()
  if (options.source === undefined) return nodes.map((node) => node.id)
  const rows = await Promise.all(nodes.map((node) => store.session(node.id)))
  return rows.flatMap((row) => (row !== undefined && row.source === options.source ? [row.id] : []))
}

async function* exportLines(
  store: SessionStore,
  options: { readonly ids: readonly SessionId[]; readonly signal: AbortSignal },
): AsyncGenerator<string, void> {
  for (const id of options.ids) {
    options.signal.throwIfAborted()
    const session = await store.exportSession(id)
    if (session !== undefined) yield JSON.stringify(session)
  }
}

/** The file appears under its name only when it is complete. */
async function writeLines(path: string, lines: AsyncIterable<string>): Promise<number> {
  const partial = `${path}.partial-${process.pid}`
  let count = 0
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
      throw new CliError(`${path} is a directory; name a file.`, { exitCode: 2 })
    const descriptor = openSync(partial, "wx", 0o600)
    try {
      for await (const line of lines) {
        writeSync(descriptor, `${line}\n`)
        count += 1
      }
    } finally {
      closeSync(descriptor)
    }
    if (count > 0) renameSync(partial, path)
    return count
  } catch (error) {
    if (error instanceof CliError || errorCode(error) === undefined) throw error
    throw new CliError(`Cannot write ${path}: ${explainSystemError(error)}.`, { exitCode: 1, cause: error })
  } finally {
    rmSync(partial, { force: true })
  }
}
