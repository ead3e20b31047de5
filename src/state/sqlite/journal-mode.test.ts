import { join } from "node:path"
import { expect, test } from "vitest"
import {
  recordingLog,
  temporaryFolder,
  temporaryStore,
  testClock,
} from "../../../test/fixtures/state/temporary-store.ts"
import { connect } from "./connection.ts"
import type { Connection } from "./connection.ts"
import { useWriteAheadLog } from "./journal-mode.ts"
import { toStoreError } from "./store-failure.ts"

/** A connection to a real file on a file system that refuses the shared memory of WAL. */
function onNetworkDisk(path: string, refused: readonly string[]): Connection {
  const connection = connect({ path, clock: testClock(), log: recordingLog(), readOnly: false })
  return {
    ...connection,
    bare: (work) =>
      connection.bare((db) =>
        work({
          ...db,
          get: (sql, ...values) => {
            if (!refused.includes(sql)) return db.get(sql, ...values)
            const error = Object.assign(new Error("locking protocol"), { code: "ERR_SQLITE_ERROR", errcode: 15 })
            throw toStoreError(error, path)
          },
        }),
      ),
  }
}

test("where the log is refused a new file gets the slower mode and a warning", async () => {
  using folder = temporaryFolder()
  const connection = onNetworkDisk(join(folder.path, "state.db"), ["PRAGMA journal_mode = WAL"])
  const log = recordingLog()
  expect(await useWriteAheadLog(connection, log)).toBe("delete")
  expect(log.warnings).toHaveLength(1)
  await connection.close()
})

test("a file that is in write-ahead mode is never taken out of it", async () => {
  await using t = await temporaryStore()
  const connection = onNetworkDisk(t.path, ["PRAGMA journal_mode", "PRAGMA journal_mode = WAL"])
  await expect(useWriteAheadLog(connection, t.log)).rejects.toMatchObject({ kind: "unavailable" })
  await connection.close()
})
