import { Redirect, useParams } from 'wouter'

/** The address of one message leads to it in the tree. */
export default function ToMessage() {
  const { name } = useParams<{ name: string }>()
  return <Redirect to={`/messages?message=${encodeURIComponent(name)}`} replace />
}
