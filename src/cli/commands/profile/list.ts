import { listProfiles } from "../../../config/profiles/profiles.ts"
import type { Invocation } from "../../command.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"

/** `hermes profile list` */
export async function run({ flags, terminal, home, environment }: Invocation): Promise<number> {
  const profiles = await listProfiles({ home, environment })
  if (flags.has("json")) {
    printJson(
      terminal,
      profiles.map((profile) => ({ ...profile, current: profile.path === home.path })),
    )
    return 0
  }
  const rows = profiles.map(({ active, name, path, description }) => [
    active ? "*" : "",
    name,
    home.display(path),
    description,
  ])
  printTable([{}, {}, {}, {}], rows, { terminal, environment })
  return 0
}
