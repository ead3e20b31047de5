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
] as const)("%s is %s", (error, kind) => {
  const failure = toStoreError(error, "/home/state.db")
  expect([failure.kind, failure.cause]).toEqual([kind, error])
})

test("a store error stays itself", () => {
  const error = new StoreError("exists", "taken")
  expect(toStoreError(error, "/x")).toBe(error)
})

test("network file systems are named, with the way out", () => {
  const error = sqliteError(15, "locking protocol")
  expect(refusesWal(error)).toBe(true)
  expect(toStoreError(error, "/nfs/state.db").message).toBe(
    "The session database /nfs/state.db cannot be locked (locking protocol); " +
      "this happens on network and FUSE file systems, so put the Hermes home on a local disk.",
  )
})

test("only busy and locked are worth a second try", () => {
  expect([5, 261, 517, 6, 8, 11].map((code) => isLocked(sqliteError(code)))).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ])
})
