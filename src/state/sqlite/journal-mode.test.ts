import { join } from "node:path"
import { expect, test } from "vitest"
import {
  recordingLogger,
  temporaryDirectory,
  temporaryStore,
  testClock,
} from "../../../test/fixtures/state/temporary-store.ts"
import { connect } from "./connection.ts"
import type { Connection } from "./connection.ts"
import { useWriteAheadLog } from "./journal-mode.ts"
import { toStoreError } from "./store-failure.ts"

/** A connection to a file on a file system that does not support the shared memory of WAL. */
function onNetworkDisk(path: string, unsupported: readonly string[]): Connection {
  const connection = connect({ path, clock: testClock(), log: recordingLogger(), readOnly: false })
  return {
    ...connection,
    withoutTransaction: (work) =>
      connection.withoutTransaction((db) =>
        work({
          ...db,
          get: (sql, ...values) => {
            if (!unsupported.includes(sql)) return db.get(sql, ...values)
            const error = Object.assign(new Error("locking protocol"), { code: "ERR_SQLITE_ERROR", errcode: 15 })
            throw toStoreError(error, path)
          },
        }),
      ),
  }
}

test("a new database without WAL support gets a slower journal mode and a warning", async () => {
  using folder = temporaryDirectory()
  const connection = onNetworkDisk(join(folder.path, "state.db"), ["PRAGMA journal_mode = WAL"])
  const log = recordingLogger()
  expect(await useWriteAheadLog(connection, log)).toBe("delete")
  expect(log.warnings).toHaveLength(1)
  await connection.close()
})

test("a database in WAL mode is never switched back", async () => {
  await using t = await temporaryStore()
  const connection = onNetworkDisk(t.path, ["PRAGMA journal_mode", "PRAGMA journal_mode = WAL"])
  await expect(useWriteAheadLog(connection, t.log)).rejects.toMatchObject({ kind: "unavailable" })
  await connection.close()
})
