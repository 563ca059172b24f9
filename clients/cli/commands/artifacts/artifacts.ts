import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addArtifactsGet } from './get.ts'
import { addArtifactsList } from './list.ts'
import { addArtifactsPut } from './put.ts'
import { addArtifactsSweep } from './sweep.ts'
import { addArtifactsVerify } from './verify.ts'

export function addArtifacts(program: Command, context: Context): void {
  const artifacts = program.command('artifacts').helpCommand(false).description('bytes by the digest of their content')
  for (const add of [addArtifactsList, addArtifactsGet, addArtifactsPut, addArtifactsVerify, addArtifactsSweep])
    add(artifacts, context)
}
