import { chmodSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import { environmentFrom } from "./environment.ts"
import { resolveHome } from "./home.ts"
import { closeSecretFile, looseSecretFiles } from "./secret-files.ts"

test("secret files others can read are found and closed", async () => {
  const loose = [".env", "config.yaml", "state.db-wal", "pastes/p.txt", "sessions/request_dump_1_2.json"]
  const others = ["auth.json", "SOUL.md", "sessions/saved.json"]
  await using place = await temporaryHome({
    files: Object.fromEntries([...loose, ...others].map((name) => [name, "x"])),
  })
  for (const name of [...loose, ...others]) chmodSync(join(place.path, name), name === "auth.json" ? 0o600 : 0o644)
  const home = resolveHome(environmentFrom(place.env))
  const found = looseSecretFiles(home)
  expect(new Map(found.map(({ path, mode }) => [path, mode]))).toEqual(
    new Map(loose.map((name) => [join(place.path, name), 0o644])),
  )
  for (const file of found) closeSecretFile(file)
  expect(looseSecretFiles(home)).toEqual([])
})
