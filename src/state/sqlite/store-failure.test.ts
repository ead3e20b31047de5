import { expect, test } from "vitest"
import { StoreError } from "../store.ts"
import { isLocked, refusesWal, toStoreError } from "./store-failure.ts"

function sqliteError(errcode: number, message = "boom"): Error {
  return Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode })
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code })
}

test.each([
  [sqliteError(5), "locked"],
  [sqliteError(5 | (2 << 8)), "locked"],
  [sqliteError(6), "locked"],
  [sqliteError(8), "read-only"],
  [sqliteError(10), "unavailable"],
  [sqliteError(11), "corrupt"],
  [sqliteError(13), "disk-full"],
  [sqliteError(14), "unavailable"],
  [sqliteError(15, "locking protocol"), "unavailable"],
  [sqliteError(19), "failed"],
  [sqliteError(26), "corrupt"],
  [systemError("ENOSPC"), "disk-full"],
  [systemError("EROFS"), "read-only"],
  [systemError("EACCES"), "unavailable"],
  [new Error("anything"), "unavailable"],
] as const)("%s has the kind %s", (error, kind) => {
  const failure = toStoreError(error, "/home/state.db")
  expect([failure.kind, failure.cause]).toEqual([kind, error])
})

test("a StoreError is returned unchanged", () => {
  const error = new StoreError("exists", "taken")
  expect(toStoreError(error, "/x")).toBe(error)
})

test("a network file system is reported with the remedy", () => {
  const error = sqliteError(15, "locking protocol")
  expect(refusesWal(error)).toBe(true)
  expect(toStoreError(error, "/nfs/state.db").message).toBe(
    "The session database /nfs/state.db cannot be locked (locking protocol). " +
      "This happens on network and FUSE file systems. Move the Hermes home to a local disk.",
  )
})

test("only busy and locked can be retried", () => {
  expect([5, 261, 517, 6, 8, 11].map((code) => isLocked(sqliteError(code)))).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ])
})
