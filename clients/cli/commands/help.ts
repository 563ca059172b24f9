import type { Command } from 'commander'
import { didYouMean } from '../../../protocol/nearest.ts'
import { usage } from '../failure.ts'

export function addHelp(program: Command): void {
  program
    .command('help')
    .description('print the help of svc or of a command')
    .argument('[command...]', 'such as flows put')
    .action((words: string[]) => {
      let command = program
      for (const word of words) {
        const found = command.commands.find(each => each.name() === word)
        if (found === undefined) {
          const names = command.commands.map(each => each.name())
          throw usage(`There is no command "${words.join(' ')}".${didYouMean(word, names)} "svc help" lists them.`)
        }
        command = found
      }
      command.outputHelp()
    })
}
