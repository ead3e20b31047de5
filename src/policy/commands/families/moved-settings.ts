import { movesAccountSettings } from "../account-settings.ts"
import { CODE } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"

/** Programs whose settings of the account name other programs that they start. */
const OBEY_SETTINGS =
  "git git.exe gh glab hg jj tig lazygit bash zsh ksh fish csh tcsh ssh scp sftp vim vi nvim emacs gdb lldb tmux screen gpg gpg2 psql sqlite3 mutt less man direnv".split(
    " ",
  )

/** `HOME=$PWD/h git status`: the settings there were not written by the user, and may start any program. */
export const MOVED_SETTINGS_RULES: readonly CommandRule[] = [
  {
    key: "settings of another home",
    programs: OBEY_SETTINGS,
    when: movesAccountSettings,
    does: "takes its settings, which can start programs, from another directory than the home",
    effects: CODE,
  },
]
