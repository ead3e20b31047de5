import { listProfiles } from "../../../config/profiles/profiles.ts"
import type { Invocation } from "../../command.ts"
import { printJson } from "../../terminal/json-output.ts"
import { fitColumn, oneLine } from "../../terminal/text-layout.ts"

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
  const width = Math.max(12, ...profiles.map((profile) => profile.name.length))
  for (const profile of profiles) {
    const mark = profile.active ? "*" : " "
    terminal.line(
      `${mark} ${fitColumn(profile.name, width)}  ${home.display(profile.path)}${profile.description === "" ? "" : `  ${oneLine(profile.description)}`}`,
    )
  }
  return 0
}
