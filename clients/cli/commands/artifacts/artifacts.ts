import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addGroup } from '../../group.ts'
import { addArtifactsGet } from './get.ts'
import { addArtifactsList } from './list.ts'
import { addArtifactsPut } from './put.ts'
import { addArtifactsSweep } from './sweep.ts'
import { addArtifactsVerify } from './verify.ts'

export function addArtifacts(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'artifacts',
    description: 'store, fetch and check artifacts: bytes that are named by their digest',
    commands: [addArtifactsList, addArtifactsGet, addArtifactsPut, addArtifactsVerify, addArtifactsSweep],
  })
}
