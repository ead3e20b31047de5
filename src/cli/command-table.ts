import type { CommandTree } from "./command.ts"
import { AUTOMATE_COMMANDS } from "./command-table/automate.ts"
import { CARE_COMMANDS } from "./command-table/care.ts"
import { CONNECT_COMMANDS } from "./command-table/connect.ts"
import { EXTEND_COMMANDS } from "./command-table/extend.ts"
import { COMMON_FLAGS, ROOT_FLAGS, RUN_FLAGS } from "./command-table/global-flags.ts"
import { SESSION_COMMANDS } from "./command-table/sessions.ts"
import { SETTINGS_COMMANDS } from "./command-table/settings.ts"
import { TALK_COMMANDS } from "./command-table/talk.ts"

/** The whole command line of this release. Nothing that a command loads may import it: a command gets it with its invocation. */
export const COMMAND_TREE: CommandTree = {
  commands: [
    ...TALK_COMMANDS,
    ...SESSION_COMMANDS,
    ...SETTINGS_COMMANDS,
    ...EXTEND_COMMANDS,
    ...AUTOMATE_COMMANDS,
    ...CONNECT_COMMANDS,
    ...CARE_COMMANDS,
  ],
  defaultCommand: "chat",
  commonFlags: COMMON_FLAGS,
  runFlags: RUN_FLAGS,
  rootFlags: ROOT_FLAGS,
}
