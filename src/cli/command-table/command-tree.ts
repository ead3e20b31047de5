import type { CommandTree } from "../command.ts"
import { AUTOMATE_COMMANDS } from "./automate.ts"
import { MAINTENANCE_COMMANDS } from "./maintenance.ts"
import { CONNECT_COMMANDS } from "./connect.ts"
import { EXTEND_COMMANDS } from "./extend.ts"
import { COMMON_FLAGS, ROOT_FLAGS, RUN_FLAGS } from "./global-flags.ts"
import { SESSION_COMMANDS } from "./sessions.ts"
import { SETTINGS_COMMANDS } from "./settings.ts"
import { CHAT_COMMANDS } from "./chat.ts"

/** The commands of this release. Code that a command loads must not import this: it receives the tree with its invocation. */
export const COMMAND_TREE: CommandTree = {
  commands: [
    ...CHAT_COMMANDS,
    ...SESSION_COMMANDS,
    ...SETTINGS_COMMANDS,
    ...EXTEND_COMMANDS,
    ...AUTOMATE_COMMANDS,
    ...CONNECT_COMMANDS,
    ...MAINTENANCE_COMMANDS,
  ],
  defaultCommand: "chat",
  commonFlags: COMMON_FLAGS,
  runFlags: RUN_FLAGS,
  rootFlags: ROOT_FLAGS,
}
